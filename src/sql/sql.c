// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A connection to SQLite and its answers. Nothing but SELECT is authorized, no file is opened, and SQLite's memory has
 * a limit. Each table is a module of its own ("eponymous": it is there without CREATE VIRTUAL TABLE).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/suggest.h"
#include "sql/internal.h"

/* ---- the connection ---- */

static int sql_authorize(void *arg, int action, const char *a, const char *b, const char *db,
			 const char *trigger)
{
	(void)a, (void)b, (void)db, (void)trigger;
	if (((const struct sql *)arg)->declares)
		return SQLITE_OK;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_FUNCTION:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	default:
		return SQLITE_DENY;
	}
}

static int event_count(void *counts, const struct event *ev)
{
	((uint64_t *)counts)[ev->type->index]++;
	return 0;
}

/*
 * How many events of each type there are: from the index, or by reading the input to its end, which shows all types
 * and losses.
 */
static int events_count(struct sql *s)
{
	const uint16_t lost = event_type_ours(EV_lost)->index, gap = event_type_ours(EV_gap)->index;
	struct reader *r = s->in->reader;

	s->counts = calloc(EVENT_TYPES_MAX, sizeof(*s->counts));
	if (!s->counts)
		return fail(-ENOMEM, "out of memory");
	if (r->ops->counts && !r->ops->counts(r, s->counts) && !s->counts[lost] && !s->counts[gap])
		return 0;
	memset(s->counts, 0, EVENT_TYPES_MAX * sizeof(*s->counts));
	return reader_each(r, event_count, s->counts);
}

static int sqlite_open(struct sql *s)
{
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX |
			  SQLITE_OPEN_URI;
	int status = sqlite3_open_v2(":memory:", &s->db, flags, NULL);

	if (status == SQLITE_OK)
		status = sqlite3_exec(s->db, "PRAGMA temp_store = MEMORY", NULL, NULL, NULL);
	if (status == SQLITE_OK) /* they declare columns, which is not authorized later */
		status = sqlite3_exec(s->db, "SELECT 1 FROM json_each('[]'), json_tree('[]')", NULL,
				      NULL, NULL);
	if (status != SQLITE_OK)
		return fail(-ENOMEM, "SQLite: %s", sqlite3_errstr(status));
	sqlite3_limit(s->db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(s->db, SQLITE_LIMIT_SQL_LENGTH, SQL_TEXT_MAX);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(s->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL); /* "misspelt" is no text */
	sqlite3_hard_heap_limit64((sqlite3_int64)s->memory_bytes);
	return 0;
}

int sql_open(const struct query *query, struct input_set *in, uint64_t memory_bytes,
	     struct sql **ret)
{
	struct sql *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return fail(-ENOMEM, "out of memory");
	*s = (struct sql){.query = query,
			  .in = in,
			  .notes = json_array(),
			  .tables = json_array(),
			  .taken = json_object(),
			  .types = json_object(),
			  .memory_bytes = memory_bytes};
	err = sqlite_open(s);
	if (!err)
		err = events_count(s);
	if (!err)
		err = spans_tables_add(s);
	if (!err)
		err = reports_tables_add(s);
	if (!err) /* whose names may be any */
		err = events_tables_add(s);
	if (!err)
		err = functions_add(s);
	if (!err) /* from now on */
		sqlite3_set_authorizer(s->db, sql_authorize, s);
	if (err)
		sql_close(s);
	else
		*ret = s;
	return err;
}

void sql_close(struct sql *s)
{
	if (!s)
		return;
	sqlite3_close(s->db);
	sqlite3_hard_heap_limit64(0);
	json_decref(s->notes);
	json_decref(s->tables);
	json_decref(s->taken);
	json_decref(s->types);
	free(s->counts);
	free(s);
}

static int query_goes_on(void *arg)
{
	struct sql *s = arg;

	s->stopped = s->stop(s->stop_arg);
	return s->stopped != NULL;
}

void sql_stop_by(struct sql *s, const char *(*stop)(void *arg), void *arg)
{
	enum { STEPS_BETWEEN = 10000 }; /* some milliseconds, where each tenth one reads an event */

	s->stop = stop;
	s->stop_arg = arg;
	sqlite3_progress_handler(s->db, STEPS_BETWEEN, query_goes_on, s);
}

const json_t *sql_notes(const struct sql *s)
{
	return s->notes;
}

/* ---- the list of tables ---- */

/* "time_ns, source, ...": owned by the caller; NULL: no memory. */
static char *names_join(const char *const *name, unsigned int nr)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	for (unsigned int i = 0; f && i < nr; i++)
		fprintf(f, "%s%s", i ? ", " : "", name[i]);
	return f && !fclose(f) ? text : NULL;
}

/* Of a table that runs no report: as SQLite knows it. */
static void columns_ask(struct sql *s, const char *table, struct sql_columns *c,
			sqlite3_stmt **stmt)
{
	char *text = sqlite3_mprintf("SELECT * FROM \"%w\"", table);

	if (text && sqlite3_prepare_v2(s->db, text, -1, stmt, NULL) == SQLITE_OK)
		for (int i = 0; i < sqlite3_column_count(*stmt); i++)
			columns_add(c, sqlite3_column_name(*stmt, i), "");
	sqlite3_free(text);
}

int sql_tables(struct sql *s, int (*put)(void *arg, const char *table, const char *columns),
	       void *arg)
{
	json_t *name;
	size_t i;
	int err = 0;

	json_array_foreach (s->tables, i, name) {
		const char *table = json_string_value(name);
		struct sql_columns c = {.nr = 0};
		sqlite3_stmt *stmt = NULL;

		if (!reports_declare(table, &c))
			columns_ask(s, table, &c, &stmt);
		_cleanup_free_ char *columns = names_join(c.name, c.nr);

		sqlite3_finalize(stmt);
		err = columns ? put(arg, table, columns) : fail(-ENOMEM, "out of memory");
		if (err)
			break;
	}
	return err;
}

/* ---- errors ---- */

static int table_try(void *arg, const char *table, const char *columns)
{
	struct {
		struct suggestion best;
		const char *word;
	} *found = arg;
	static _Thread_local char name[EVENT_NAME_MAX];

	(void)columns;
	const char *before = found->best.name;

	suggest_try(&found->best, found->word, table);
	if (found->best.name != before) {
		snprintf(name, sizeof(name), "%s", table);
		found->best.name = name;
	}
	return 0;
}

/* "no such table: exit": with the name that was meant, or how to list them. `where`: a part of the message. */
static int table_unknown(struct sql *s, const char *name, const char *where)
{
	struct {
		struct suggestion best;
		const char *word;
	} found = {.word = name};

	sql_tables(s, table_try, &found);
	fail_usage(-EINVAL, "no such table: %s%s", name, where);
	if (found.best.name)
		return suggest_hint(-EINVAL, &found.best);
	return fail_hint(-EINVAL, "hostrace sql --schema lists the tables");
}

#if SQLITE_VERSION_NUMBER >= 3038000
#define error_offset(db) sqlite3_error_offset(db)
#else
#define error_offset(db) ((void)(db), -1)
#endif

/* "character 8 of the query"; of a text of several lines "line 3, character 8". Returns buf. */
static const char *place_print(const char *text, const char *at, char *buf, size_t size)
{
	const char *line = text, *newline = strchr(text, '\n');
	unsigned int nr = 1;

	if (!newline || !newline[1]) {
		snprintf(buf, size, "character %zu of the query", (size_t)(at - text) + 1);
		return buf;
	}
	for (; newline && newline < at; newline = strchr(line, '\n')) {
		line = newline + 1;
		nr++;
	}
	snprintf(buf, size, "line %u, character %zu", nr, (size_t)(at - line) + 1);
	return buf;
}

/* What begins there, up to the end of the line. */
static int excerpt_len(const char *at)
{
	size_t len = strcspn(at, "\n");

	return len > 40 ? 40 : (int)len;
}

/* A statement of a text, which SQLite finds the place of an error in, or does not. */
struct statement {
	const char *text, *begin;
};

static const char *statement_first(const struct statement *st)
{
	return st->begin + strspn(st->begin, " \t\r\n;");
}

/* Where SQLite found an error, or at least in which of several queries; else "". Returns buf. */
static const char *error_where(struct sql *s, const struct statement *st, char *buf, size_t size)
{
	const char *first = statement_first(st), *at = st->begin;
	int offset = error_offset(s->db);
	char place[64];

	*buf = 0;
	if (offset >= 0 && (size_t)offset < strlen(at))
		snprintf(buf, size, ", at %s: %.*s",
			 place_print(st->text, at + offset, place, sizeof(place)),
			 excerpt_len(at + offset), at + offset);
	else if (first != st->text)
		snprintf(buf, size, ", in the query at %s",
			 place_print(st->text, first, place, sizeof(place)));
	return buf;
}

/* The message of SQLite, with the place in the query. */
static int query_failed(struct sql *s, const struct statement *st)
{
	static const char no_table[] = "no such table: ";
	const char *why = sqlite3_errmsg(s->db);
	char where[128];

	if (s->err == -ENOMEM || sqlite3_errcode(s->db) == SQLITE_NOMEM)
		return fail(-ENOMEM, "out of memory");
	error_where(s, st, where, sizeof(where));
	if (!strncmp(why, no_table, strlen(no_table)))
		return table_unknown(s, why + strlen(no_table), where);
	if (sqlite3_errcode(s->db) == SQLITE_AUTH)
		return fail_usage(-EINVAL, "only SELECT is possible: %s%s", why, where);
	return fail_usage(-EINVAL, "%s%s", why, where);
}

static int step_failed(struct sql *s, int status, const struct statement *st)
{
	if (s->stopped)
		return fail(-EINTR, "%s", s->stopped);
	if (s->err && s->err != -ENOMEM)
		return fail(s->err, "%s", sqlite3_errmsg(s->db));
	if (status == SQLITE_NOMEM || status == SQLITE_FULL)
		return fail_hint(fail(-ENOMEM, "the query needs more than %" PRIu64
					       " MiB of memory for what it sorts or groups",
				      s->memory_bytes >> 20),
				 "--memory SIZE, or fewer rows (WHERE, --since, --period)");
	return query_failed(s, st);
}

/* ---- answers ---- */

static const char hex_digits[] = "0123456789abcdef";

/* A BLOB's bytes as text, owned by the caller; NULL: no memory. */
static char *blob_text(sqlite3_stmt *stmt, int i)
{
	const uint8_t *bytes = sqlite3_column_blob(stmt, i);
	size_t nr = (size_t)sqlite3_column_bytes(stmt, i);
	char *text = malloc(2 * nr + 1), *to = text;

	for (size_t k = 0; text && k < nr; k++) {
		*to++ = hex_digits[bytes[k] >> 4];
		*to++ = hex_digits[bytes[k] & 15];
	}
	if (text)
		*to = 0;
	return text;
}

static int value_get(sqlite3_stmt *stmt, int i, struct sql_value *v, char **owned)
{
	*v = (struct sql_value){SQL_NULL};
	switch (sqlite3_column_type(stmt, i)) {
	case SQLITE_INTEGER:
		*v = (struct sql_value){.kind = SQL_INTEGER, .integer = sqlite3_column_int64(stmt, i)};
		break;
	case SQLITE_FLOAT:
		*v = (struct sql_value){.kind = SQL_REAL, .real = sqlite3_column_double(stmt, i)};
		break;
	case SQLITE_BLOB:
		v->text = *owned = blob_text(stmt, i);
		v->kind = SQL_TEXT;
		break;
	case SQLITE_TEXT:
		v->text = (const char *)sqlite3_column_text(stmt, i);
		v->kind = SQL_TEXT;
		break;
	}
	return v->kind == SQL_TEXT && !v->text ? fail(-ENOMEM, "out of memory") : 0;
}

static int row_deliver(sqlite3_stmt *stmt, unsigned int nr, struct sql_value *value, char **owned,
		       const struct sql_sink *sink)
{
	int err = 0;

	for (unsigned int i = 0; i < nr && !err; i++)
		err = value_get(stmt, (int)i, &value[i], &owned[i]);
	if (!err)
		err = sink->row(sink->arg, nr, value);
	for (unsigned int i = 0; i < nr; i++) {
		free(owned[i]);
		owned[i] = NULL;
	}
	return err;
}

static int columns_deliver(sqlite3_stmt *stmt, unsigned int nr, const struct sql_sink *sink)
{
	_cleanup_free_ const char **name = calloc(nr, sizeof(*name));

	for (unsigned int i = 0; name && i < nr; i++)
		name[i] = sqlite3_column_name(stmt, (int)i);
	return name ? sink->columns(sink->arg, nr, name) : fail(-ENOMEM, "out of memory");
}

static int rows_deliver(struct sql *s, sqlite3_stmt *stmt, const struct statement *st,
			const struct sql_sink *sink)
{
	unsigned int nr = (unsigned int)sqlite3_column_count(stmt);
	_cleanup_free_ struct sql_value *value = calloc(nr, sizeof(*value));
	_cleanup_free_ char **owned = calloc(nr, sizeof(*owned));
	int status = SQLITE_ROW, err;

	if (!value || !owned)
		return fail(-ENOMEM, "out of memory");
	err = columns_deliver(stmt, nr, sink);
	while (!err && (status = sqlite3_step(stmt)) == SQLITE_ROW)
		err = row_deliver(stmt, nr, value, owned, sink);
	if (err)
		return err > 0 ? 0 : err;
	return status == SQLITE_DONE ? 0 : step_failed(s, status, st);
}

/* The next statement, where `st` then begins; NULL: only blanks and comments are left. 0 or -errno. */
static int statement_compile(struct sql *s, struct statement *st, sqlite3_stmt **stmt,
			     const char **rest)
{
	int status;

	*stmt = NULL;
	*rest = st->begin;
	do { /* a semicolon alone ends what SQLite compiles at once */
		st->begin = *rest;
		status = sqlite3_prepare_v2(s->db, st->begin, -1, stmt, rest);
	} while (status == SQLITE_OK && !*stmt && **rest);
	return status == SQLITE_OK ? 0 : step_failed(s, status, st);
}

bool sql_has_more(struct sql *s, const char *at)
{
	sqlite3_stmt *stmt;
	const char *rest;
	bool has = statement_compile(s, &(struct statement){at, at}, &stmt, &rest) || stmt;

	sqlite3_finalize(stmt);
	return has;
}

int sql_check_single(struct sql *s, const char *text)
{
	struct statement st = {text, text};
	sqlite3_stmt *stmt;
	const char *rest;
	char place[64];
	int err = statement_compile(s, &st, &stmt, &rest);

	sqlite3_finalize(stmt);
	if (err || !sql_has_more(s, rest))
		return err;
	rest = statement_first(&(struct statement){text, rest});
	return fail_usage(-EINVAL, "one query at a time; a second one begins at %s: %.*s",
			  place_print(text, rest, place, sizeof(place)), excerpt_len(rest), rest);
}

bool sql_is_complete(const char *text)
{
	return sqlite3_complete(text);
}

int sql_run(struct sql *s, const char *text, const char **at, const struct sql_sink *sink)
{
	struct statement st = {text, *at};
	sqlite3_stmt *stmt;
	int err;

	if (strlen(text) >= SQL_TEXT_MAX)
		return fail_usage(-E2BIG, "the query has more than %d bytes", SQL_TEXT_MAX);
	s->err = 0;
	s->stopped = NULL;
	err = statement_compile(s, &st, &stmt, at);
	if (!err)
		err = stmt ? rows_deliver(s, stmt, &st, sink)
			   : fail_usage(-EINVAL, "the query is empty");
	sqlite3_finalize(stmt);
	return err;
}
