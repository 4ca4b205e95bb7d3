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
	free(s->counts);
	free(s);
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

/* "no such table: exit": with the name that was meant, or how to list them. */
static int table_unknown(struct sql *s, const char *name)
{
	struct {
		struct suggestion best;
		const char *word;
	} found = {.word = name};

	sql_tables(s, table_try, &found);
	fail_usage(-EINVAL, "no such table: %s", name);
	if (found.best.name)
		return suggest_hint(-EINVAL, &found.best);
	return fail_hint(-EINVAL, "hostrace sql --schema lists the tables");
}

#if SQLITE_VERSION_NUMBER >= 3038000
#define error_offset(db) sqlite3_error_offset(db)
#else
#define error_offset(db) ((void)(db), -1)
#endif

/* The message of SQLite, with the place in the query. */
static int query_failed(struct sql *s, const char *text)
{
	static const char no_table[] = "no such table: ";
	const char *why = sqlite3_errmsg(s->db);
	int at = error_offset(s->db);

	if (!strncmp(why, no_table, strlen(no_table)))
		return table_unknown(s, why + strlen(no_table));
	if (sqlite3_errcode(s->db) == SQLITE_AUTH)
		return fail_usage(-EINVAL, "only SELECT is possible: %s", why);
	if (at < 0 || (size_t)at >= strlen(text))
		return fail_usage(-EINVAL, "%s", why);
	return fail_usage(-EINVAL, "%s, at character %d of the query: %.40s", why, at + 1,
			  text + at);
}

static int step_failed(struct sql *s, int status, const char *text)
{
	if (s->err && s->err != -ENOMEM)
		return fail(s->err, "%s", sqlite3_errmsg(s->db));
	if (status == SQLITE_NOMEM || status == SQLITE_FULL)
		return fail_hint(fail(-ENOMEM, "the query needs more than %" PRIu64
					       " MiB of memory for what it sorts or groups",
				      s->memory_bytes >> 20),
				 "--memory SIZE, or fewer rows (WHERE, --since, --period)");
	return query_failed(s, text);
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

static int rows_deliver(struct sql *s, sqlite3_stmt *stmt, const char *text,
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
	return status == SQLITE_DONE ? 0 : step_failed(s, status, text);
}

/* Is there anything but blanks, semicolons and comments? */
static bool is_statement(struct sql *s, const char *text)
{
	sqlite3_stmt *stmt = NULL;
	bool is = sqlite3_prepare_v2(s->db, text, -1, &stmt, NULL) != SQLITE_OK || stmt;

	sqlite3_finalize(stmt);
	return is;
}

int sql_run(struct sql *s, const char *text, const struct sql_sink *sink)
{
	sqlite3_stmt *stmt = NULL;
	const char *rest = "";
	int status, err;

	if (strlen(text) >= SQL_TEXT_MAX)
		return fail_usage(-E2BIG, "the query has more than %d bytes", SQL_TEXT_MAX);
	s->err = 0;
	status = sqlite3_prepare_v2(s->db, text, -1, &stmt, &rest);
	if (status != SQLITE_OK)
		err = step_failed(s, status, text);
	else if (!stmt)
		err = fail_usage(-EINVAL, "the query is empty");
	else if (is_statement(s, rest))
		err = fail_usage(-EINVAL, "one query at a time; a second one begins at: %.40s",
				 rest);
	else
		err = rows_deliver(s, stmt, text, sink);
	sqlite3_finalize(stmt);
	return err;
}
