// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of reports as those of a database file: one after the other, as each has its own selection of events, and
 * may need much memory. A report's rows go to the file one by one: all of them as JSON would be the largest part.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "sql/file_table.h"
#include "sql/report_tables.h"

struct report_export {
	struct sql *s;
	const struct report_table_def *def;
	struct query query;
	struct result result;
	struct sql_columns columns;
	json_t *names; /* of the columns that are not declared */
	struct file_table table;
	bool exists;
	int status;
};

/* ---- rows ---- */

static int table_make(struct report_export *e)
{
	if (e->exists)
		return SQLITE_OK;
	e->exists = true;
	report_columns_declared(e->def, &e->columns);
	return file_table_create(&e->table, e->s->db, e->def->name, &e->columns);
}

/* Columns for all members of the row. */
static int columns_make(struct report_export *e, const json_t *row)
{
	const char *key;
	json_t *value;
	int status = table_make(e);

	json_object_foreach ((json_t *)row, key, value) {
		json_t *name = json_string(key);

		json_array_append_new(e->names, name);
		if (!report_column_add(&e->columns, json_string_value(name)))
			json_array_remove(e->names, json_array_size(e->names) - 1);
		else if (status == SQLITE_OK)
			status = file_table_add_column(&e->table, key);
	}
	return status;
}

static int nested_value(struct report_export *e, unsigned int column, const json_t *value)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
	const struct sql_value v = {.kind = SQL_TEXT, .text = text};
	int status = text ? file_row_value(&e->table, column, &v) : SQLITE_NOMEM;

	free(text);
	return status;
}

static int member_value(struct report_export *e, unsigned int column, const json_t *value)
{
	struct sql_value v = {.kind = SQL_NULL};

	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		v = (struct sql_value){.kind = SQL_TEXT, .text = json_string_value(value)};
		break;
	case JSON_INTEGER:
		v = (struct sql_value){.kind = SQL_INTEGER, .integer = json_integer_value(value)};
		break;
	case JSON_REAL:
		v = (struct sql_value){.kind = SQL_REAL, .real = json_real_value(value)};
		break;
	case JSON_TRUE:
	case JSON_FALSE:
		v = (struct sql_value){.kind = SQL_INTEGER, .integer = json_is_true(value)};
		break;
	case JSON_NULL:
		break;
	default:
		return nested_value(e, column, value);
	}
	return file_row_value(&e->table, column, &v);
}

/* Of a report's table. */
static int row_put(void *arg, const json_t *row)
{
	struct report_export *e = arg;
	int status = columns_make(e, row);

	if (status == SQLITE_OK)
		status = file_row_begin(&e->table);
	for (unsigned int i = 0; i < e->columns.nr && status == SQLITE_OK; i++)
		status = member_value(e, i, json_object_get(row, e->columns.name[i]));
	if (status == SQLITE_OK)
		status = file_row_end(&e->table);
	e->status = status;
	return status == SQLITE_OK ? 0 : fail(-EIO, "SQLite: %s", sqlite3_errstr(status));
}

/* ---- a report ---- */

static int answer_write(struct report_export *e)
{
	const struct rows_sink sink = {e, row_put};
	json_auto_t *answer = NULL;
	const struct output out = {.format = "tree", .tree = &answer, .rows = &sink};
	int err = result_write(&e->result, &out);
	const json_t *row;
	size_t i;

	if (err)
		return err;
	json_array_foreach (report_table_rows(e->s, e->def, answer), i, row)
		if (!err)
			err = row_put(e, row);
	if (!err)
		e->status = table_make(e);
	return err;
}

static int report_make(struct report_export *e)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	int err;

	e->query.of = e->def->of;
	err = result_init(&e->result, e->def->ops, &e->query);
	if (!err)
		err = inputs_again(e->s, NULL, &in);
	if (!err)
		err = report_run(&e->result, in);
	if (!err)
		err = answer_write(e);
	result_close(&e->result);
	return err;
}

static int report_copy(struct sql *s, const struct report_table_def *def)
{
	struct report_export e = {.s = s, .def = def, .query = *s->query, .names = json_array()};
	int err = report_make(&e);

	file_table_close(&e.table);
	json_decref(e.names);
	if (err == -ENODATA) { /* of clocks that nothing relates */
		note_add(s, "there is no such table: %s", error_text());
		err = 0;
	}
	if (e.status != SQLITE_OK)
		return e.status;
	s->err = err;
	return err ? SQLITE_ERROR : notes_write(s, def->name, s->notes);
}

int reports_tables_copy(struct sql *s)
{
	int status = SQLITE_OK;

	for (unsigned int i = 0; i < REPORT_TABLES && status == SQLITE_OK; i++)
		status = report_copy(s, &report_tables[i]);
	return status;
}
