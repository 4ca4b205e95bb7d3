// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of events as those of a database file, in one pass over the inputs: each event becomes a row of "events"
 * and of its type's table; one of losses also of "losses".
 */
#include <errno.h>

#include "base/error.h"
#include "sql/event_columns.h"
#include "sql/file_table.h"

struct events_export {
	struct sql *s;
	struct events_input in;
	struct file_table all, losses;
	const struct event_type *lost;
	struct file_table table[EVENT_TYPES_MAX]; /* by index of the first type of the name; without a name: none */
	uint16_t *column[EVENT_TYPES_MAX];	   /* of a type: of each field, 1 + its column; 0: none */
};

/* ---- tables ---- */

static int table_create(struct events_export *x, struct file_table *t, const char *name,
			const char *type)
{
	struct sql_columns c;

	event_columns(type, &c);
	return file_table_create(t, x->s->db, name, &c);
}

static int type_tables_create(struct events_export *x)
{
	struct sql *s = x->s;
	unsigned int nr = 0, dropped = 0;
	const char *name;
	json_t *of;
	int status = SQLITE_OK;

	json_object_foreach (s->types, name, of) {
		const char *type = json_string_value(of);

		if (nr == EXPORT_TYPES_MAX) {
			dropped++;
			continue;
		}
		status = table_create(x, &x->table[event_type_named(type)->index], name, type);
		if (status != SQLITE_OK)
			return status;
		nr++;
	}
	if (dropped)
		note_add(s, "types of events without a table of their own, as there are more than "
			    "%d: %u; their events are in the table events",
			 EXPORT_TYPES_MAX, dropped);
	return status;
}

static int tables_create(struct events_export *x)
{
	int status = table_create(x, &x->all, "events", "");

	x->lost = event_type_named(event_type_ours(EV_lost)->name);
	if (status == SQLITE_OK)
		status = table_create(x, &x->losses, "losses", x->lost->name);
	return status == SQLITE_OK ? type_tables_create(x) : status;
}

/* ---- rows ---- */

/* Which column each field of the type has. NULL: no memory. */
static const uint16_t *type_columns(struct events_export *x, const struct event_type *type)
{
	uint16_t **column = &x->column[type->index];
	struct sql_columns c;

	if (*column || !(*column = calloc(type->nr_fields + 1u, sizeof(**column))))
		return *column;
	event_columns(type->name, &c);
	for (unsigned int i = 0; i < type->nr_fields; i++)
		for (unsigned int k = EVENTS_COMMON; k < c.nr; k++)
			if (!strcmp(c.name[k], event_field_column(&type->fields[i])))
				(*column)[i] = (uint16_t)(k + 1);
	return *column;
}

static int common_values(struct events_export *x, struct file_table *t)
{
	int status = file_row_begin(t);
	struct table_value v;

	for (unsigned int i = 0; i < EVENTS_COMMON && status == SQLITE_OK; i++) {
		event_common_value(&v, &x->in, (int)i);
		status = file_row_value(t, i, &v.value);
	}
	return status;
}

static int all_insert(struct events_export *x)
{
	const struct sql_value type = {.kind = SQL_TEXT, .text = x->in.row.ev->type->name};
	struct sql_value fields = {.kind = SQL_TEXT};
	size_t len;
	char *text = event_fields_json(&x->in.row, &len);
	int status = text ? common_values(x, &x->all) : SQLITE_NOMEM;

	fields.text = text;
	if (status == SQLITE_OK)
		status = file_row_value(&x->all, EVENTS_EVENT, &type);
	if (status == SQLITE_OK)
		status = file_row_value(&x->all, EVENTS_FIELDS, &fields);
	free(text);
	return status == SQLITE_OK ? file_row_end(&x->all) : status;
}

static int type_insert(struct events_export *x, struct file_table *t)
{
	const struct event *ev = x->in.row.ev;
	const struct event_type *type = ev->type;
	const uint16_t *column = type_columns(x, type);
	struct table_value v;
	int status = column ? common_values(x, t) : SQLITE_NOMEM;

	for (unsigned int i = 0; i < type->nr_fields && status == SQLITE_OK; i++) {
		if (!column[i])
			continue;
		event_field_value(&v, ev, &type->fields[i]);
		status = file_row_value(t, column[i] - 1u, &v.value);
	}
	return status == SQLITE_OK ? file_row_end(t) : status;
}

static int row_insert(struct events_export *x)
{
	const struct event_type *first = event_type_named(x->in.row.ev->type->name);
	struct file_table *t = &x->table[first->index];
	int status = all_insert(x);

	if (status == SQLITE_OK && t->name)
		status = type_insert(x, t);
	return status == SQLITE_OK && first == x->lost ? type_insert(x, &x->losses) : status;
}

static int rows_insert(struct events_export *x)
{
	int status = SQLITE_OK, more = events_input_open(x->s, NULL, &x->in);

	if (!more)
		more = events_input_next(&x->in);
	while (more > 0 && status == SQLITE_OK) {
		status = row_insert(x);
		more = events_input_next(&x->in);
	}
	if (more >= 0)
		return status;
	x->s->err = more;
	return SQLITE_ERROR;
}

static void events_export_free(struct events_export *x)
{
	events_input_close(&x->in);
	file_table_close(&x->all);
	file_table_close(&x->losses);
	for (unsigned int i = 0; i < EVENT_TYPES_MAX; i++) {
		file_table_close(&x->table[i]);
		free(x->column[i]);
	}
	free(x);
}

int events_tables_copy(struct sql *s)
{
	struct events_export *x = calloc(1, sizeof(*x));
	int status;

	if (!x)
		return SQLITE_NOMEM;
	x->s = s;
	status = tables_create(x);
	if (status == SQLITE_OK)
		status = rows_insert(x);
	events_export_free(x);
	return status;
}
