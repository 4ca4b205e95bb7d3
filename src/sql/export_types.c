// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of types of events as those of a database file, in one pass over the inputs: each event becomes a row of
 * its type's table, by an INSERT that is prepared with the type's first event. To copy them as the other tables are
 * would read the inputs once for each type.
 */
#include <errno.h>

#include "base/error.h"
#include "sql/event_columns.h"

/* Of a name of types. */
struct type_table {
	const char *name; /* borrowed from s->types; NULL: the type has no table */
	sqlite3_stmt *insert;
};

struct types_export {
	struct sql *s;
	struct events_input in;
	struct type_table table[EVENT_TYPES_MAX]; /* by index of the first type of the name */
	uint8_t *column[EVENT_TYPES_MAX];	   /* of a type: of each field, 1 + its column; 0: none */
};

/* ---- tables ---- */

static int type_table_create(struct sql *s, const char *name, const char *type)
{
	struct sql_columns c;
	sqlite3_str *text = sqlite3_str_new(s->db);
	char *sql;
	int status = SQLITE_NOMEM;

	event_columns(type, &c);
	sqlite3_str_appendf(text, "CREATE TABLE file.\"%w\"(", name);
	for (unsigned int i = 0; i < c.nr; i++)
		sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "", c.name[i],
				    *c.type[i] == 'I' ? "INT" : "TEXT"); /* as CREATE TABLE AS */
	sqlite3_str_appendall(text, ")");
	sql = sqlite3_str_finish(text);
	if (sql)
		status = sqlite3_exec(s->db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
	return status;
}

static int type_tables_create(struct types_export *x)
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
		status = type_table_create(s, name, type);
		if (status != SQLITE_OK)
			return status;
		x->table[event_type_named(type)->index].name = name;
		nr++;
	}
	if (dropped)
		note_add(s, "types of events without a table of their own, as there are more than "
			    "%d: %u; their events are in the table events",
			 EXPORT_TYPES_MAX, dropped);
	return status;
}

/* ---- rows ---- */

static int insert_prepare(struct types_export *x, struct type_table *t, unsigned int nr_columns)
{
	sqlite3_str *text = sqlite3_str_new(x->s->db);
	char *sql;
	int status = SQLITE_NOMEM;

	sqlite3_str_appendf(text, "INSERT INTO file.\"%w\" VALUES(?", t->name);
	for (unsigned int i = 1; i < nr_columns; i++)
		sqlite3_str_appendall(text, ", ?");
	sqlite3_str_appendall(text, ")");
	sql = sqlite3_str_finish(text);
	if (sql)
		status = sqlite3_prepare_v3(x->s->db, sql, -1, SQLITE_PREPARE_PERSISTENT,
					    &t->insert, NULL);
	sqlite3_free(sql);
	return status;
}

/* Which column each field of the type has; prepares the table's INSERT. */
static int type_bind(struct types_export *x, struct type_table *t, const struct event_type *type)
{
	uint8_t *column = calloc(type->nr_fields + 1u, sizeof(*column));
	struct sql_columns c;

	if (!column)
		return SQLITE_NOMEM;
	x->column[type->index] = column;
	event_columns(type->name, &c);
	for (unsigned int i = 0; i < type->nr_fields; i++)
		for (unsigned int k = EVENTS_COMMON; k < c.nr; k++)
			if (!strcmp(c.name[k], event_field_column(&type->fields[i])))
				column[i] = (uint8_t)(k + 1);
	return t->insert ? SQLITE_OK : insert_prepare(x, t, c.nr);
}

static int value_bind(sqlite3_stmt *stmt, int column, const struct sql_value *v)
{
	if (v->kind == SQL_INTEGER)
		return sqlite3_bind_int64(stmt, column, v->integer);
	if (v->kind == SQL_TEXT)
		return sqlite3_bind_text(stmt, column, v->text, -1, SQLITE_TRANSIENT);
	return sqlite3_bind_null(stmt, column);
}

static int row_insert(struct types_export *x)
{
	const struct event *ev = x->in.row.ev;
	const struct event_type *type = ev->type;
	struct type_table *t = &x->table[event_type_named(type->name)->index];
	struct table_value v;
	int status = SQLITE_OK;

	if (!t->name)
		return SQLITE_OK;
	if (!x->column[type->index])
		status = type_bind(x, t, type);
	if (status == SQLITE_OK)
		status = sqlite3_clear_bindings(t->insert);
	for (int i = 0; i < EVENTS_COMMON && status == SQLITE_OK; i++) {
		event_common_value(&v, &x->in, i);
		status = value_bind(t->insert, i + 1, &v.value);
	}
	for (unsigned int i = 0; i < type->nr_fields && status == SQLITE_OK; i++) {
		if (!x->column[type->index][i])
			continue;
		event_field_value(&v, ev, &type->fields[i]);
		status = value_bind(t->insert, x->column[type->index][i], &v.value);
	}
	if (status != SQLITE_OK)
		return status;
	sqlite3_step(t->insert);
	return sqlite3_reset(t->insert);
}

static int rows_insert(struct types_export *x)
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

static void types_export_free(struct types_export *x)
{
	events_input_close(&x->in);
	for (unsigned int i = 0; i < EVENT_TYPES_MAX; i++) {
		sqlite3_finalize(x->table[i].insert);
		free(x->column[i]);
	}
	free(x);
}

int type_tables_copy(struct sql *s)
{
	struct types_export *x = calloc(1, sizeof(*x));
	int status;

	if (!x)
		return SQLITE_NOMEM;
	x->s = s;
	status = type_tables_create(x);
	if (status == SQLITE_OK)
		status = rows_insert(x);
	types_export_free(x);
	return status;
}
