// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `list --columns`: a column is looked up once, when it is named: it is one of a row's own, or a field, which each
 * event type has at another place or not at all.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "output/escape.h"
#include "output/event_formats.h"

/* A cell: text, or a number. */
struct cell {
	enum { CELL_NONE, CELL_TEXT, CELL_NUMBER, CELL_FIELD } kind;
	const char *text;
	uint64_t number;
	const struct field *field;
};

struct own_column {
	const char *name;
	struct cell (*cell)(const struct event_row *row);
};

struct column {
	const char *name; /* as given */
	const char *field; /* without "fields." */
	const struct own_column *own; /* NULL: a field */
	bool used;
};

struct event_columns {
	enum event_columns_format format;
	char *names; /* what they point into */
	struct column column[EVENT_COLUMNS_MAX];
	unsigned int nr;
};

/* ---- a row's own columns ---- */

static struct cell number_cell(uint64_t number)
{
	return (struct cell){.kind = CELL_NUMBER, .number = number};
}

static struct cell text_cell(const char *text)
{
	return (struct cell){.kind = text ? CELL_TEXT : CELL_NONE, .text = text};
}

static struct cell time_ns_cell(const struct event_row *row)
{
	return row->ticks ? text_cell(NULL) : number_cell(row->ev->time_ns);
}

static struct cell time_ticks_cell(const struct event_row *row)
{
	return row->ticks ? number_cell(row->ev->time_ns) : text_cell(NULL);
}

static struct cell source_cell(const struct event_row *row)
{
	return text_cell(row->source);
}

static struct cell vm_cell(const struct event_row *row)
{
	return text_cell(row->vm);
}

static struct cell cpu_cell(const struct event_row *row)
{
	return number_cell(row->ev->cpu);
}

static struct cell vcpu_cell(const struct event_row *row)
{
	return row->vcpu != RECORD_NO_VCPU ? number_cell(row->vcpu) : text_cell(NULL);
}

static struct cell pid_cell(const struct event_row *row)
{
	return number_cell(row->ev->pid);
}

static struct cell tid_cell(const struct event_row *row)
{
	return number_cell(row->ev->tid);
}

static struct cell comm_cell(const struct event_row *row)
{
	return text_cell(row->comm);
}

static struct cell event_cell(const struct event_row *row)
{
	return text_cell(row->ev->type->name);
}

static const struct own_column own_columns[] = {
	{"time_ns", time_ns_cell}, {"time_ticks", time_ticks_cell},
	{"source", source_cell},   {"vm", vm_cell},
	{"cpu", cpu_cell},	   {"vcpu", vcpu_cell},
	{"pid", pid_cell},	   {"tid", tid_cell},
	{"comm", comm_cell},	   {"event", event_cell},
};

/* ---- the list ---- */

static struct column column_named(const char *name)
{
	static const char prefix[] = "fields.";
	bool field = !strncmp(name, prefix, strlen(prefix));
	struct column c = {.name = name, .field = field ? name + strlen(prefix) : name};

	for (size_t i = 0; !field && i < sizeof(own_columns) / sizeof(own_columns[0]); i++)
		if (!strcmp(name, own_columns[i].name))
			c.own = &own_columns[i];
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

static struct cell cell_of(const struct column *c, const struct event_row *row)
{
	struct cell cell = {.kind = CELL_FIELD};

	if (c->own)
		return c->own->cell(row);
	cell.field = event_field(row->ev->type, c->field);
	return cell.field ? cell : text_cell(NULL);
}

static void put_text_cell(const struct event_row *row, const struct cell *cell, FILE *out)
{
	switch (cell->kind) {
	case CELL_NONE: fputc('-', out); break;
	case CELL_TEXT: fputs(*cell->text ? cell->text : "-", out); break;
	case CELL_NUMBER: fprintf(out, "%" PRIu64, cell->number); break;
	case CELL_FIELD: event_row_field_text(row, cell->field, out); break;
	}
}

static void put_csv_cell(const struct event_row *row, const struct cell *cell, FILE *out)
{
	switch (cell->kind) {
	case CELL_NONE: break;
	case CELL_TEXT: put_csv(out, cell->text); break;
	case CELL_NUMBER: fprintf(out, "%" PRIu64, cell->number); break;
	case CELL_FIELD: event_row_field_csv(row, cell->field, out); break;
	}
}

static void put_json_cell(const struct event_row *row, const struct cell *cell, FILE *out)
{
	switch (cell->kind) {
	case CELL_NONE: fputs("null", out); break;
	case CELL_TEXT: put_json(out, cell->text); break;
	case CELL_NUMBER: fprintf(out, "%" PRIu64, cell->number); break;
	case CELL_FIELD: event_row_field_json(row, cell->field, out); break;
	}
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
	static void (*const put[])(const struct event_row *row, const struct cell *cell,
				   FILE *out) = {
		[EVENT_COLUMNS_TEXT] = put_text_cell,
		[EVENT_COLUMNS_CSV] = put_csv_cell,
		[EVENT_COLUMNS_JSON] = put_json_cell,
	};
	static const char *const between[] = {"\t", ",", ","};
	bool json = columns->format == EVENT_COLUMNS_JSON;

	fputs(json ? "{" : "", out);
	for (unsigned int i = 0; i < columns->nr; i++) {
		struct column *c = &columns->column[i];
		struct cell cell = cell_of(c, row);

		c->used |= cell.kind != CELL_NONE;
		fputs(i ? between[columns->format] : "", out);
		if (json) {
			put_json(out, c->name);
			fputc(':', out);
		}
		put[columns->format](row, &cell, out);
	}
	fputs(json ? "}" : "\n", out);
}
