// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of the attached database, whose INSERT is prepared with its first row; and the table of notes. */
#include "sql/file_table.h"

/* Runs the text, which is freed. */
static int text_exec(sqlite3 *db, sqlite3_str *text)
{
	char *sql = sqlite3_str_finish(text);
	int status = sql ? sqlite3_exec(db, sql, NULL, NULL, NULL) : SQLITE_NOMEM;

	sqlite3_free(sql);
	return status;
}

int file_table_create(struct file_table *t, sqlite3 *db, const char *name,
		      const struct sql_columns *c)
{
	sqlite3_str *text = sqlite3_str_new(db);

	*t = (struct file_table){.db = db, .name = name, .nr_columns = c->nr};
	sqlite3_str_appendf(text, "CREATE TABLE file.\"%w\"(", name);
	for (unsigned int i = 0; i < c->nr; i++)
		sqlite3_str_appendf(text, "%s\"%w\" %s", i ? ", " : "", c->name[i],
				    *c->type[i] == 'I' ? "INT" : c->type[i]);
	sqlite3_str_appendall(text, ")");
	return text_exec(db, text);
}

void file_table_close(struct file_table *t)
{
	sqlite3_finalize(t->insert);
	t->insert = NULL;
}

int file_table_add_column(struct file_table *t, const char *name)
{
	sqlite3_str *text = sqlite3_str_new(t->db);

	file_table_close(t);
	t->nr_columns++;
	sqlite3_str_appendf(text, "ALTER TABLE file.\"%w\" ADD COLUMN \"%w\"", t->name, name);
	return text_exec(t->db, text);
}

static int insert_prepare(struct file_table *t)
{
	sqlite3_str *text = sqlite3_str_new(t->db);
	char *sql;
	int status = SQLITE_NOMEM;

	sqlite3_str_appendf(text, "INSERT INTO file.\"%w\" VALUES(?", t->name);
	for (unsigned int i = 1; i < t->nr_columns; i++)
		sqlite3_str_appendall(text, ", ?");
	sqlite3_str_appendall(text, ")");
	sql = sqlite3_str_finish(text);
	if (sql)
		status = sqlite3_prepare_v3(t->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &t->insert,
					    NULL);
	sqlite3_free(sql);
	return status;
}

int file_row_begin(struct file_table *t)
{
	return t->insert ? sqlite3_clear_bindings(t->insert) : insert_prepare(t);
}

int file_row_value(struct file_table *t, unsigned int column, const struct sql_value *v)
{
	int i = (int)column + 1;

	switch (v->kind) {
	case SQL_INTEGER:
		return sqlite3_bind_int64(t->insert, i, v->integer);
	case SQL_REAL:
		return sqlite3_bind_double(t->insert, i, v->real);
	case SQL_TEXT:
		return sqlite3_bind_text(t->insert, i, v->text, -1, SQLITE_TRANSIENT);
	default:
		return sqlite3_bind_null(t->insert, i);
	}
}

int file_row_end(struct file_table *t)
{
	sqlite3_step(t->insert);
	return sqlite3_reset(t->insert);
}

int notes_write(struct sql *s, const char *table, json_t *notes)
{
	const json_t *note;
	size_t i;
	int status = SQLITE_OK;

	json_array_foreach (notes, i, note) {
		char *text = sqlite3_mprintf("INSERT INTO file.notes VALUES(%Q, %Q)", table,
					     json_string_value(note));

		if (status == SQLITE_OK)
			status = text ? sqlite3_exec(s->db, text, NULL, NULL, NULL) : SQLITE_NOMEM;
		sqlite3_free(text);
	}
	json_array_clear(notes); /* the next table has the same once more */
	return status;
}
