// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The columns of tables of events and their values, and the events once more. A type may come from several inputs with
 * other fields: its table has all of them.
 */
#include "base/array.h"
#include "event/vm_names.h"
#include "output/escape.h"
#include "output/report.h"
#include "sql/event_columns.h"

/* ---- columns ---- */

static const char *const common_name[] = {"time_ns", "source", "file", "vm",	"cpu",	 "vcpu",
					  "pid",     "tid",    "comm", "event", "fields"};
static const char *const common_type[] = {"INTEGER", "TEXT",	"TEXT", "TEXT", "INTEGER",
					  "INTEGER", "INTEGER", "INTEGER", "TEXT", "TEXT", "TEXT"};

/* A field that is called as what all events have gets a name of its own. */
static const char *const renamed[][2] = {{"time_ns", "field_time_ns"}, {"source", "field_source"},
					 {"file", "field_file"},
					 {"vm", "field_vm"},	       {"cpu", "field_cpu"},
					 {"vcpu", "field_vcpu"},       {"pid", "field_pid"},
					 {"tid", "field_tid"},	       {"comm", "field_comm"}};

const char *event_field_column(const struct field *f)
{
	for (unsigned int i = 0; i < EVENTS_COMMON; i++)
		if (!sqlite3_stricmp(renamed[i][0], f->name))
			return renamed[i][1];
	return f->name;
}

static bool has_column(const struct sql_columns *c, const char *name)
{
	return array_any(c->nr, i, !sqlite3_stricmp(c->name[i], name));
}

static void fields_add(struct sql_columns *c, const struct event_type *type)
{
	for (unsigned int i = 0; i < type->nr_fields; i++) {
		const struct field *f = &type->fields[i];
		enum row_value kind = event_row_value(f);

		if (!has_column(c,event_field_column(f)))
			columns_add(c,event_field_column(f),
				    kind >= ROW_VALUE_SIGNED ? "INTEGER" : "TEXT");
	}
}

void event_columns(const char *name, struct sql_columns *c)
{
	c->nr = 0;
	for (unsigned int i = 0; i < (*name ? EVENTS_COMMON : EVENTS_FIELDS + 1); i++)
		columns_add(c, common_name[i], common_type[i]);
	for (unsigned int i = 0; *name && i < event_types_count(); i++)
		if (!strcmp(event_type_at(i)->name, name))
			fields_add(c, event_type_at(i));
}

/* ---- values ---- */

void event_field_value(struct table_value *v, const struct event *ev, const struct field *f)
{
	if (f->offset >= ev->size)
		return value_text(v, NULL);
	switch (event_row_value(f)) {
	case ROW_VALUE_TEXT:
		value_text(v, field_print(ev, f, v->text, sizeof(v->text)));
		break;
	case ROW_VALUE_HEX:
		value_hex(v, event_u64(ev, f));
		break;
	case ROW_VALUE_SIGNED:
		value_signed(v, (int64_t)event_u64(ev, f));
		break;
	default:
		value_number(v, event_u64(ev, f));
	}
}

void event_common_value(struct table_value *v, const struct events_input *in, int column)
{
	const struct event *ev = in->row.ev;

	switch (column) {
	case EVENTS_TIME:
		return value_number(v, ev->time_ns);
	case EVENTS_SOURCE:
		return value_text(v, in->row.source);
	case EVENTS_FILE:
		return value_text(v, input_set_path(in->set, ev->source));
	case EVENTS_VM:
		return value_vm(v, in->set, ev->pid);
	case EVENTS_CPU:
		return value_number_if(v, ev->cpu != RECORD_CPU_UNKNOWN, ev->cpu);
	case EVENTS_VCPU:
		return value_number_if(v, in->row.vcpu != RECORD_NO_VCPU, in->row.vcpu);
	case EVENTS_PID:
		return value_number_if(v, ev->pid, ev->pid);
	case EVENTS_TID:
		return value_number_if(v, ev->tid, ev->tid);
	default:
		return value_text(v, *in->row.comm ? in->row.comm : NULL);
	}
}

char *event_fields_json(const struct event_row *row, size_t *ret_len)
{
	char *text = NULL;
	uint64_t frames = 0;
	FILE *f = open_memstream(&text, ret_len);
	unsigned int nr = 0;

	if (!f)
		return NULL;
	fputc('{', f);
	for (unsigned int i = 0; i < row->ev->type->nr_fields; i++) {
		const struct field *field = &row->ev->type->fields[i];

		if (!event_row_shows(row, field, &frames))
			continue;
		fputs(nr++ ? "," : "", f);
		put_json(f, field->name);
		fputc(':', f);
		event_row_field_json(row, field, f);
	}
	fputc('}', f);
	if (!fclose(f))
		return text;
	free(text);
	return NULL;
}

/* ---- events ---- */

int events_input_open(struct sql *s, const struct input_options *options, struct events_input *in)
{
	int err = inputs_again(s, options, &in->set);

	if (!err) {
		input_set_want_thread_names(in->set);
		err = input_set_open(in->set, NULL, NULL);
	}
	return err ? err : input_events_open(in->set, &in->events);
}

void events_input_close(struct events_input *in)
{
	input_events_close(&in->events);
	input_set_close(in->set);
	in->set = NULL;
	in->row = (struct event_row){0};
}

int events_input_next(struct events_input *in)
{
	const struct event *ev;
	int more = input_events_next(&in->events, &ev);

	if (more > 0)
		in->row = (struct event_row){.ev = ev,
					     .source = input_set_name(in->set, ev->source),
					     .comm = thread_comm(in->events.names, ev),
					     .vcpu = thread_vcpu(in->events.names, ev)};
	return more;
}
