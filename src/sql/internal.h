/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kinds of tables share. */
#ifndef HOSTRACE_SQL_INTERNAL_H
#define HOSTRACE_SQL_INTERNAL_H

#include <sqlite3.h>

#include "sql/sql.h"

enum { TABLE_NAME_BYTES = EVENT_NAME_MAX + 64 };
enum { COLUMNS_MAX = 256 }; /* of a table of one type of events: its fields in all inputs, and those that all have */

struct sql {
	sqlite3 *db;
	const struct query *query;
	struct input_set *in;
	uint64_t *counts; /* of events, by registry index */
	json_t *notes;
	json_t *tables; /* names, in order; of types of events those that occur */
	json_t *taken;	/* names of all tables, in small letters, as members of an object */
	json_t *types;	/* of events that occur: the type of each of their tables, by the table's name, in order */
	uint64_t memory_bytes;
	const char *(*stop)(void *arg);
	void *stop_arg;
	const char *stopped; /* by this error message */
	bool declares; /* the columns of a table */
	int err; /* of reading an input within a query: its message is the answer's */
};

/* A virtual table. Each kind has a struct that begins with it. */
struct sql_table {
	sqlite3_vtab base;
	struct sql *sql;
};

/* The text of CREATE TABLE from names of columns and their types. */
struct sql_columns {
	const char *name[COLUMNS_MAX], *type[COLUMNS_MAX]; /* type: "INTEGER", "REAL", "TEXT", "" */
	unsigned int nr;
};
void columns_add(struct sql_columns *c, const char *name, const char *type);
int columns_declare(struct sql *s, const struct sql_columns *c);

/*
 * The cost of reading a table with so many of the conditions in WHERE. Always more than half of the whole: SQLite then
 * never reads a table for each side of an OR, and drops what has a row number for the second time. Rows are numbered as
 * they are read, so that these are other rows.
 */
static inline double table_cost(int conditions)
{
	return 1e9 * (conditions > 3 ? .6 : 1 - .12 * conditions);
}

/* Adds a note to the answer, once. */
void note_add(struct sql *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* From a callback: the error message that is set becomes SQLite's. Returns SQLITE_ERROR or SQLITE_NOMEM. */
int table_failed(sqlite3_vtab *table, int err);

/* The inputs once more, with these options (NULL: the query's). 0 or -errno. */
int inputs_again(struct sql *s, const struct input_options *options, struct input_set **ret);

/* A value of a column, with room for a text. Numbers above INT64_MAX are text: no arithmetic takes them for others. */
enum { VALUE_TEXT_BYTES = 4096 };
struct table_value {
	struct sql_value value;
	char text[VALUE_TEXT_BYTES];
};

void value_number(struct table_value *v, uint64_t number);
void value_number_if(struct table_value *v, bool known, uint64_t number); /* else null */
void value_signed(struct table_value *v, int64_t number);
void value_text(struct table_value *v, const char *text); /* borrowed; NULL: null */
void value_hex(struct table_value *v, uint64_t number);
void value_vm(struct table_value *v, const struct input_set *in, uint32_t pid);

/* As the result of xColumn; a text is copied. */
void value_result(sqlite3_context *to, const struct sql_value *v);

/* Is there a table of this name? SQLite does not distinguish capital letters of ASCII. */
bool table_is_taken(const struct sql *s, const char *name);

/* Adds a table; `aux` is freed by `aux_free` with it, and if this fails. 0 or -ENOMEM with the error message set. */
int table_add_module(struct sql *s, const char *name, const sqlite3_module *module, void *aux,
		     void (*aux_free)(void *aux));

/* Add the tables of one kind to the connection. 0 or -errno with the error message set. */
int events_tables_add(struct sql *s);
int spans_tables_add(struct sql *s);
int reports_tables_add(struct sql *s);
int functions_add(struct sql *s);

/*
 * Copy the tables of one kind to the attached database `file`. Of types of events at most EXPORT_TYPES_MAX: SQLite
 * reads the whole schema for each table that it creates. A status of SQLite; its message, or s->err with the error
 * message set.
 */
enum { EXPORT_TYPES_MAX = 1000 };
int events_tables_copy(struct sql *s);
int spans_tables_copy(struct sql *s);
int reports_tables_copy(struct sql *s);

/* The columns that a report declares, without running it. False: the table is not a report's. */
bool reports_declare(const char *table, struct sql_columns *c);

#endif
