// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `list --columns`: a column is looked up once, when it is named: it is one of a row's own, or a field, which each
 * event type has at another place or not at all.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "output/escape.h"
#include "output/event_formats.h"
#include "output/table.h"

struct named_column {
	const char *name; /* as given */
	const char *field; /* without "fields." */
	const struct column_def *own; /* NULL: a field */
	bool used;
};

struct event_columns {
	enum event_columns_format format;
	char *names; /* what they point into */
	struct named_column column[EVENT_COLUMNS_MAX];
	unsigned int nr;
};

/* ---- a row's own columns ---- */

#define ROW const struct event_row *row

GET_NUMBER_IF(get_time_ns, ROW, !row->ticks, row->ev->time_ns)
GET_NUMBER_IF(get_time_ticks, ROW, row->ticks, row->ev->time_ns)
GET_NUMBER_IF(get_cpu, ROW, row->ev->cpu != RECORD_CPU_UNKNOWN, row->ev->cpu)
GET_NUMBER(get_pid, ROW, row->ev->pid)
GET_NUMBER(get_tid, ROW, row->ev->tid)
GET_TEXT(get_source, ROW, row->source)
GET_TEXT(get_vm, ROW, row->vm)
GET_TEXT(get_comm, ROW, row->comm)
GET_TEXT(get_flags, ROW, *row->ev->flags ? row->ev->flags : NULL)
GET_TEXT(get_event, ROW, row->ev->type->name)

static const struct column_def own_columns[] = {
	{"time_ns", NULL, COL_COUNT, .get = get_time_ns, .doc = "host CLOCK_MONOTONIC"},
	{"time_ticks", NULL, COL_COUNT, .get = get_time_ticks, .optional = true,
	 .doc = "instead of it, in a trace whose clock has an unknown rate"},
	{"source", NULL, COL_TEXT, .get = get_source, .doc = "host or guest"},
	{"vm", NULL, COL_TEXT, .get = get_vm, .optional = true,
	 .doc = "name of the VM, in traces with several"},
	{"cpu", NULL, COL_COUNT, .get = get_cpu, .nullable = true,
	 .doc = "the CPU of the host or the guest"},
	{"vcpu", NULL, COL_COUNT, offsetof(struct event_row, vcpu), column_vcpu, .nullable = true,
	 .doc = "index of the vCPU"},
	{"pid", NULL, COL_COUNT, .get = get_pid, .doc = "process id (--columns)"},
	{"tid", NULL, COL_COUNT, .get = get_tid, .doc = "thread id"},
	{"comm", NULL, COL_TEXT, .get = get_comm, .doc = "name of the thread, if known"},
	{"flags", NULL, COL_TEXT, .get = get_flags, .optional = true,
	 .doc = "ftrace's latency flags: irqs off, need-resched, hard or soft irq, preempt depth, "
		"depth of migrate_disable() (trace.dat, text of ftrace; --flags)"},
	{"event", NULL, COL_TEXT, .get = get_event, .doc = "name of the event"},
	{0},
};

const struct table_def events_table = {
	"list", "-f csv", "an event; the fields follow, or --columns names them", {own_columns}};

/* ---- the list ---- */

static struct named_column column_named(const char *name)
{
	static const char prefix[] = "fields.";
	bool field = !strncmp(name, prefix, strlen(prefix));
	struct named_column c = {.name = name, .field = field ? name + strlen(prefix) : name};

	for (const struct column_def *own = own_columns; !field && own->key; own++)
		if (!strcmp(name, own->key))
			c.own = own;
	return c;
}

static int names_split(struct event_columns *columns)
{
	for (char *name = columns->names, *next; name; name = next) {
		next = strchr(name, ',');
		if (next)
			*next++ = 0;
		if (!*name)
			return fail_usage(-EINVAL, "--columns has an empty name");
		if (columns->nr == EVENT_COLUMNS_MAX)
			return fail_usage(-E2BIG, "more than %d columns", EVENT_COLUMNS_MAX);
		columns->column[columns->nr++] = column_named(name);
	}
	return 0;
}

struct event_columns *event_columns_new(const char *list, enum event_columns_format format)
{
	struct event_columns *columns = calloc(1, sizeof(*columns));

	if (columns)
		columns->names = strdup(list);
	if (!columns || !columns->names) {
		event_columns_free(columns);
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	columns->format = format;
	if (!names_split(columns))
		return columns;
	event_columns_free(columns);
	return NULL;
}

void event_columns_free(struct event_columns *columns)
{
	if (columns)
		free(columns->names);
	free(columns);
}

const char *event_columns_unused(const struct event_columns *columns, unsigned int *at)
{
	while (*at < columns->nr)
		if (!columns->column[(*at)++].used)
			return columns->column[*at - 1].name;
	return NULL;
}

/* ---- writing ---- */

/* Returns whether the event has it. */
static bool put_value(enum event_columns_format format, const struct named_column *c,
		      const struct event_row *row, FILE *out)
{
	static void (*const put_field[])(const struct event_row *row, const struct field *f,
					 FILE *out) = {event_row_field_text, event_row_field_csv,
						       event_row_field_json};
	static const char *const nothing[] = {"-", "", "null"};
	const struct field *f = c->own ? NULL : event_field(row->ev->type, c->field);
	struct cell v = {0};

	if (c->own)
		v = c->own->get(NULL, (const char *)row + c->own->offset);
	if (f)
		put_field[format](row, f, out);
	else if (!c->own || (c->own->kind == COL_TEXT) == !v.text)
		return fputs(nothing[format], out), false;
	else if (!v.text)
		fprintf(out, "%" PRIu64, v.number);
	else if (format == EVENT_COLUMNS_TEXT)
		fputs(*v.text ? v.text : "-", out);
	else
		(format == EVENT_COLUMNS_CSV ? put_csv : put_json)(out, v.text);
	return true;
}

void event_columns_head(const struct event_columns *columns, FILE *out)
{
	if (columns->format == EVENT_COLUMNS_JSON)
		return;
	for (unsigned int i = 0; i < columns->nr; i++) {
		const char *name = columns->column[i].name;

		if (columns->format == EVENT_COLUMNS_TEXT) {
			fprintf(out, "%s%s", i ? "\t" : "#", name);
		} else {
			fputs(i ? "," : "", out);
			put_csv(out, name);
		}
	}
	fputc('\n', out);
}

void event_columns_row(struct event_columns *columns, const struct event_row *row, FILE *out)
{
	static const char *const between[] = {"\t", ",", ","};
	bool json = columns->format == EVENT_COLUMNS_JSON;

	fputs(json ? "{" : "", out);
	for (unsigned int i = 0; i < columns->nr; i++) {
		struct named_column *c = &columns->column[i];

		fputs(i ? between[columns->format] : "", out);
		if (json) {
			put_json(out, c->name);
			fputc(':', out);
		}
		c->used |= put_value(columns->format, c, row, out);
	}
	fputs(json ? "}" : "\n", out);
}
