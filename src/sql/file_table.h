/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A table of the attached database `file`, and its rows. Statuses are SQLite's. */
#ifndef HOSTRACE_SQL_FILE_TABLE_H
#define HOSTRACE_SQL_FILE_TABLE_H

#include "sql/internal.h"

struct file_table {
	sqlite3 *db;
	const char *name; /* borrowed */
	unsigned int nr_columns;
	sqlite3_stmt *insert; /* NULL: there is no row yet */
};

/* Makes it, with the types that CREATE TABLE AS would give its columns. */
int file_table_create(struct file_table *t, sqlite3 *db, const char *name,
		      const struct sql_columns *c);
void file_table_close(struct file_table *t);

/* A column more, which is NULL in the rows so far. */
int file_table_add_column(struct file_table *t, const char *name);

/* A row: begins with NULL in each column; values of columns, from 0 on; its end. */
int file_row_begin(struct file_table *t);
int file_row_value(struct file_table *t, unsigned int column, const struct sql_value *v);
int file_row_end(struct file_table *t);

/* Adds these to the exported table of notes, and empties the list. `table`: what they are about; NULL: the inputs. */
int notes_write(struct sql *s, const char *table, json_t *notes);

#endif
