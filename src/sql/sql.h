/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Questions in SQL: SQLite in memory, whose tables are virtual, over the inputs of a query:
 *
 *	events		every event; "fields" is a JSON object
 *	kvm_exit, ...	the events of one type, a column for each field; names such as "guest:sched_switch" in quotes
 *	exits, pio, ...	the spans of one analyzer (analyzers/spans/), a column for each label; spans: of all analyzers
 *	causes, ...	the rows of a report, as its JSON has them; it runs when a query names the table
 *
 * Values are those of JSON: times in integer ns, addresses as "0x...", names of reasons; what a recording does not have
 * is NULL. Nothing is kept of events and spans: a query that names a table twice reads the inputs twice. SQLite's own
 * memory is bounded, and so are the rows of reports.
 */
#ifndef HOSTRACE_SQL_SQL_H
#define HOSTRACE_SQL_SQL_H

#include "reports/result.h"

enum {
	SQL_MEMORY_MIN = 16 << 20,	/* bytes, for sorting and grouping */
	SQL_MEMORY_DEFAULT = 64 << 20,
	SQL_TEXT_MAX = 1 << 20,		/* bytes of a query */
};

struct sql;

enum sql_kind { SQL_NULL, SQL_INTEGER, SQL_REAL, SQL_TEXT };

struct sql_value {
	enum sql_kind kind;
	int64_t integer;
	double real;
	const char *text; /* SQL_TEXT: UTF-8; of a BLOB, its bytes in hexadecimal */
};

/* Who receives the rows of an answer. Both return 0 or -errno with the error message set; rows: 1 to stop. */
struct sql_sink {
	void *arg;
	int (*columns)(void *arg, unsigned int nr, const char *const *name);
	int (*row)(void *arg, unsigned int nr, const struct sql_value *value); /* valid during the call */
};

/*
 * A connection to the inputs that `query` names; `in` is open and stays so: what it says of the inputs belongs to each
 * answer. Both are borrowed. 0 or -errno with the error message set.
 */
int sql_open(const struct query *query, struct input_set *in, uint64_t memory_bytes,
	     struct sql **ret);
void sql_close(struct sql *s);

/* While a query is answered, `stop` is asked whether to end it: the error message (-EINTR), or NULL. */
void sql_stop_by(struct sql *s, const char *(*stop)(void *arg), void *arg);
DEFINE_CLEANUP(sql, struct sql *, sql_close);

/*
 * Answers the SELECT that begins at *at, in `text`, and sets *at to where it ends. Errors: as a usage error, the query
 * is not right (the message has the place in the text); -ENOMEM: it needs more memory; or what reading the inputs or
 * the sink returned.
 */
int sql_run(struct sql *s, const char *text, const char **at, const struct sql_sink *sink);

/* Is there anything but blanks, semicolons and comments? */
bool sql_has_more(struct sql *s, const char *at);

/* Is there no second SELECT? Else a usage error. */
int sql_check_single(struct sql *s, const char *text);

/* Does the text end with a semicolon that ends a SELECT, not a part of it? */
bool sql_is_complete(const char *text);

/*
 * Writes all tables, and one of notes, to `fd` as a database of SQLite: an empty file that is open for reading and
 * writing; `path` is for messages. 0 or -errno with the error message set. Then s is only to be closed.
 */
int sql_export(struct sql *s, int fd, const char *path);

/* What the answers so far are to say besides the inputs' notes: texts. Borrowed. */
const json_t *sql_notes(const struct sql *s);

/* Calls `put` for each table; of a report, `columns` are those that it declares. 0 or what `put` returned. */
int sql_tables(struct sql *s, int (*put)(void *arg, const char *table, const char *columns),
	       void *arg);

#endif
