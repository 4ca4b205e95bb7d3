// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables of `hostrace export clickhouse`, as SQL statements. They are written for current servers; for those before
 * 20.3 what these lack is removed: codecs of columns, and LowCardinality.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/json_text.h"
#include "base/memory.h"
#include "upload/clickhouse.h"

#define _cleanup_clickhouse_ _cleanup_(clickhouse_cleanup_)

const char *const clickhouse_schema[] = {
	"-- Events as they arrived. `upload` is a random number of each attempt to insert.\n"
	"CREATE TABLE IF NOT EXISTS event_rows\n"
	"(\n"
	"    upload UInt64 CODEC(ZSTD(1)),\n"
	"    day Date CODEC(ZSTD(1)),\n"
	"    host LowCardinality(String),\n"
	"    trace LowCardinality(String),\n"
	"    chunk UInt32 CODEC(ZSTD(1)),\n"
	"    offset_ns Int64 CODEC(ZSTD(1)),\n"
	"    vm LowCardinality(String),\n"
	"    pid UInt32 CODEC(ZSTD(1)),\n"
	"    tid UInt32 CODEC(ZSTD(1)),\n"
	"    vcpu Int32 CODEC(ZSTD(1)),\n"
	"    row UInt64 CODEC(Delta(8), ZSTD(1)),\n"
	"    time_ns UInt64 CODEC(Delta(8), ZSTD(1)),\n"
	"    source LowCardinality(String),\n"
	"    cpu Int32 CODEC(ZSTD(1)),\n"
	"    comm LowCardinality(String),\n"
	"    event LowCardinality(String),\n"
	"    field_names Array(LowCardinality(String)) CODEC(ZSTD(1)),\n"
	"    field_numbers Array(Int64) CODEC(ZSTD(1)),\n"
	"    field_texts Array(LowCardinality(String)) CODEC(ZSTD(1)),\n"
	"    reason LowCardinality(String)\n"
	"        MATERIALIZED field_texts[indexOf(field_names, 'reason')]\n"
	")\n"
	"ENGINE = MergeTree PARTITION BY day ORDER BY (event, host, trace, tid, row)",

	"-- What the analyzers make of them: exits, requests, accesses, times without a CPU.\n"
	"CREATE TABLE IF NOT EXISTS span_rows\n"
	"(\n"
	"    upload UInt64 CODEC(ZSTD(1)),\n"
	"    day Date CODEC(ZSTD(1)),\n"
	"    host LowCardinality(String),\n"
	"    trace LowCardinality(String),\n"
	"    chunk UInt32 CODEC(ZSTD(1)),\n"
	"    offset_ns Int64 CODEC(ZSTD(1)),\n"
	"    vm LowCardinality(String),\n"
	"    pid UInt32 CODEC(ZSTD(1)),\n"
	"    tid UInt32 CODEC(ZSTD(1)),\n"
	"    vcpu Int32 CODEC(ZSTD(1)),\n"
	"    span UInt64 CODEC(Delta(8), ZSTD(1)),\n"
	"    begin_ns UInt64 CODEC(Delta(8), ZSTD(1)),\n"
	"    duration_ns UInt64 CODEC(ZSTD(1)),\n"
	"    marked UInt8 CODEC(ZSTD(1)),\n"
	"    weight UInt64 CODEC(ZSTD(1)),\n"
	"    bytes UInt64 CODEC(ZSTD(1)),\n"
	"    analyzer LowCardinality(String),\n"
	"    label LowCardinality(String),\n"
	"    label_names Array(LowCardinality(String)) CODEC(ZSTD(1)),\n"
	"    label_texts Array(LowCardinality(String)) CODEC(ZSTD(1))\n"
	")\n"
	"ENGINE = MergeTree PARTITION BY day ORDER BY (analyzer, label, host, trace, tid, span)",

	"-- The chunks that were inserted completely.\n"
	"CREATE TABLE IF NOT EXISTS chunk_rows\n"
	"(\n"
	"    day Date,\n"
	"    host LowCardinality(String),\n"
	"    trace LowCardinality(String),\n"
	"    chunk UInt32,\n"
	"    upload UInt64,\n"
	"    rows UInt64,\n"
	"    crc32c UInt32,\n"
	"    chunk_size UInt64,\n"
	"    uploaded DateTime DEFAULT now()\n"
	")\n"
	"ENGINE = MergeTree PARTITION BY day ORDER BY (trace, chunk)",

	"-- The traces that were inserted completely, with what they lost.\n"
	"CREATE TABLE IF NOT EXISTS trace_rows\n"
	"(\n"
	"    day Date,\n"
	"    host LowCardinality(String),\n"
	"    trace String,\n"
	"    kernel LowCardinality(String),\n"
	"    start_ns UInt64,\n"
	"    end_ns UInt64,\n"
	"    offset_ns Int64,\n"
	"    rows UInt64,\n"
	"    spans UInt64,\n"
	"    chunks UInt32,\n"
	"    lost UInt64,\n"
	"    files Array(String),\n"
	"    notes Array(String),\n"
	"    meta String,\n"
	"    hostrace LowCardinality(String),\n"
	"    uploaded DateTime DEFAULT now()\n"
	")\n"
	"ENGINE = ReplacingMergeTree(uploaded) PARTITION BY day ORDER BY (trace)",

	"-- Each event once: of a chunk that was inserted twice, one attempt counts.\n"
	"CREATE VIEW IF NOT EXISTS events AS\n"
	"SELECT day, host, trace, chunk, row, time_ns, toInt64(time_ns) + offset_ns AS wall_ns,\n"
	"    source, vm, pid, vcpu, cpu, tid, comm, event, reason,\n"
	"    field_names, field_numbers, field_texts\n"
	"FROM event_rows\n"
	"WHERE upload IN (SELECT min(upload) FROM chunk_rows GROUP BY trace, chunk)",

	"CREATE VIEW IF NOT EXISTS spans AS\n"
	"SELECT day, host, trace, chunk, span, begin_ns, toInt64(begin_ns) + offset_ns AS "
	"wall_ns,\n"
	"    duration_ns, vm, pid, tid, vcpu, analyzer, label, marked, weight, bytes,\n"
	"    label_names, label_texts\n"
	"FROM span_rows\n"
	"WHERE upload IN (SELECT min(upload) FROM chunk_rows GROUP BY trace, chunk)",

	"CREATE VIEW IF NOT EXISTS traces AS SELECT * FROM trace_rows FINAL",

	NULL,
};

/* "CODEC(Delta(8), ZSTD(1))": the end of what p begins with a name and '('. */
static const char *call_end(const char *p)
{
	int depth = 0;

	for (p = strchr(p, '('); *p; p++) {
		depth += *p == '(';
		depth -= *p == ')';
		if (!depth)
			return p + 1;
	}
	return p;
}

/* The statement for such a server; allocated. NULL: out of memory. */
static char *clickhouse_schema_statement(const char *statement, bool old)
{
	static const char codec[] = " CODEC(", low[] = "LowCardinality(String)", text[] = "String";
	char *ret = strdup(statement), *to = ret;
	const char *p = statement;

	while (ret && old && *p) {
		if (!strncmp(p, codec, strlen(codec))) {
			p = call_end(p);
		} else if (!strncmp(p, low, strlen(low))) {
			to = stpcpy(to, text);
			p += strlen(low);
		} else {
			*to++ = *p++;
		}
	}
	if (ret && old)
		*to = 0;
	return ret;
}

enum {
	CHUNKS_MAX = 1 << 20,
	CODEC_VERSION = 2003, /* 20.3: the first with all that the schema uses */
	ASYNC_VERSION = 2111, /* 21.11: inserts may be confirmed before they are done */
};
#define TIMEOUT_NS (300ull * 1000000000) /* of an insert that waits for merges */

struct clickhouse {
	struct http *http;
	char *url, *database;
	unsigned int version; /* 100 * major + minor */
};

/* ---- one query ---- */

/* "Code: 60, ..." or "Code: 60. ...", which may come with any status. */
static bool is_code(const char *body, const char *code)
{
	size_t len = strlen(code);

	return body && !strncmp(body, code, len) && (body[len] == ',' || body[len] == '.');
}

/* A table or the database is missing: what to do. */
static int clickhouse_refused(const struct clickhouse *c, const struct http_end *end, char *body)
{
	int err;

	if (end->status == 200 && !body)
		return fail(-EREMOTEIO, "%s: the server reports an exception without a text",
			    c->url);
	if (!body || strncmp(body, "Code: ", strlen("Code: ")))
		return http_refused(end->status, c->url, body);
	body[strcspn(body, "\r\n")] = 0;
	text_sanitize(body);
	err = fail(-EREMOTEIO, "%s: %.300s", c->url, body);
	if (is_code(body, "Code: 60") || is_code(body, "Code: 81"))
		fail_hint(err, "create the tables with --create-tables");
	return err;
}

struct answer {
	struct http_reply reply; /* first: the argument of http_body_keep() */
	bool exception;
};

/* Of an exception that a header names the status may be 200. */
static void header_look(void *arg, char *line)
{
	static const char name[] = "X-ClickHouse-Exception-Code:";
	struct answer *a = arg;

	a->exception |= !strncasecmp(line, name, sizeof(name) - 1);
}

static int transfer(struct clickhouse *c, const struct http_transfer *t, struct answer *a)
{
	struct http_end end;
	int err = http_perform(c->http, t, &end);

	a->reply.status = end.status;
	if (!err && end.err)
		err = *end.why ? fail(end.err, "%s: %s", c->url, end.why)
			       : fail(end.err, "%s", end.message);
	if (!err && (end.status != 200 || a->exception))
		err = clickhouse_refused(c, &end, a->reply.body);
	return err;
}

/* `data` follows the query; NULL: none. The reply is kept in *ret unless that is NULL. */
static int query(struct clickhouse *c, const char *database, const char *sql, const void *data,
		 size_t len, struct http_reply *ret)
{
	_cleanup_free_ char *escaped = http_escape(sql), *in = http_escape(database), *url = NULL;
	struct answer a = {0};
	struct http_transfer t = {.method = "POST",
				  .post = data,
				  .post_bytes = len,
				  .header = header_look,
				  .body = http_body_keep,
				  .arg = &a};
	int err;

	if (!escaped || !in ||
	    asprintf(&url, "%s%cdatabase=%s&insert_distributed_sync=1%s&query=%s", c->url,
		     strchr(c->url, '?') ? '&' : '?', in,
		     c->version >= ASYNC_VERSION ? "&async_insert=0" : "", escaped) < 0)
		return fail(-ENOMEM, "out of memory");
	t.url = url;
	err = transfer(c, &t, &a);
	if (!err && ret)
		*ret = a.reply;
	else
		http_reply_deinit(&a.reply);
	return err;
}

/* A reply of 200 means that the rows are in their table: also where that is distributed, or profiles defer inserts. */
static int insert_into(struct clickhouse *c, const char *what, const char *columns,
		       const char *format, const void *data, size_t len)
{
	_cleanup_free_ char *sql = NULL;

	if (asprintf(&sql, "INSERT INTO %s (%s) %s", what, columns, format) < 0)
		return fail(-ENOMEM, "out of memory");
	return query(c, c->database, sql, data, len, NULL);
}

/* 'text' as a literal of SQL; allocated. */
static char *quoted(const char *text)
{
	char *ret = malloc(2 * strlen(text) + 3), *to = ret;

	if (!ret)
		return NULL;
	*to++ = '\'';
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			*to++ = '\\';
		*to++ = *text;
	}
	*to++ = '\'';
	*to = 0;
	return ret;
}

/* ---- opening ---- */

static int version_read(struct clickhouse *c)
{
	struct http_reply reply = {0};
	unsigned int major = 0, minor = 0;
	int err = query(c, "system", "SELECT version()", NULL, 0, &reply);

	if (!err && (!reply.body || sscanf(reply.body, "%u.%u", &major, &minor) != 2))
		err = fail(-EPROTO, "%s: the server is not ClickHouse", c->url);
	c->version = 100 * major + minor;
	http_reply_deinit(&reply);
	return err;
}

struct clickhouse *clickhouse_open(const struct clickhouse_options *opt)
{
	_cleanup_clickhouse_ struct clickhouse *c = calloc(1, sizeof(*c));
	struct http_options http = opt->http;

	http.timeout_ns = TIMEOUT_NS;
	if (c) {
		c->url = strdup(opt->url);
		c->database = strdup(opt->database);
		c->http = http_open(&http);
	}
	if (!c || !c->url || !c->database || !c->http) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	return version_read(c) ? NULL : take_ptr(c);
}

void clickhouse_close(struct clickhouse *c)
{
	if (!c)
		return;
	http_close(c->http);
	free(c->url);
	free(c->database);
	free(c);
}

int clickhouse_create(struct clickhouse *c)
{
	_cleanup_free_ char *sql = NULL;
	int err = 0;

	for (const char *p = c->database; *p; p++)
		if (*p == '`' || *p == '\\')
			return fail_usage(-EINVAL, "invalid name of a database: '%s'", c->database);
	if (asprintf(&sql, "CREATE DATABASE IF NOT EXISTS `%s`", c->database) < 0)
		return fail(-ENOMEM, "out of memory");
	err = query(c, "system", sql, NULL, 0, NULL);
	for (size_t i = 0; clickhouse_schema[i] && !err; i++) {
		_cleanup_free_ char *statement = clickhouse_schema_statement(
			clickhouse_schema[i], c->version < CODEC_VERSION);

		err = statement ? query(c, c->database, statement, NULL, 0, NULL)
				: fail(-ENOMEM, "out of memory");
	}
	return err;
}

/* ---- what is there ---- */

static int chunk_parse(const struct clickhouse *c, const char *line,
		       struct clickhouse_progress *ret)
{
	struct clickhouse_chunk *added, chunk;
	uint64_t size;

	if (sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu32 " %" SCNu64, &chunk.chunk, &chunk.rows,
		   &chunk.crc, &size) != 4)
		return fail(-EPROTO, "%s: unexpected reply: '%.40s'", c->url, line);
	added = hash_add_u64(&ret->chunks, chunk.chunk, NULL);
	if (!added)
		return fail(-E2BIG, "%s: more than %d chunks of one trace", c->url, CHUNKS_MAX);
	*added = chunk;
	ret->chunk_size = size;
	return 0;
}

static int chunks_read(struct clickhouse *c, const char *name, struct clickhouse_progress *ret)
{
	_cleanup_free_ char *sql = NULL;
	struct http_reply reply = {0};
	char *save = NULL;
	int err;

	if (asprintf(&sql,
		     "SELECT DISTINCT chunk, rows, crc32c, chunk_size FROM chunk_rows "
		     "WHERE trace = %s FORMAT TabSeparated", name) < 0)
		return fail(-ENOMEM, "out of memory");
	err = query(c, c->database, sql, NULL, 0, &reply);
	for (char *line = reply.body ? strtok_r(reply.body, "\n", &save) : NULL; line && !err;
	     line = strtok_r(NULL, "\n", &save))
		err = chunk_parse(c, line, ret);
	http_reply_deinit(&reply);
	return err;
}

int clickhouse_progress(struct clickhouse *c, const char *trace, struct clickhouse_progress *ret)
{
	_cleanup_free_ char *name = quoted(trace), *sql = NULL;
	struct http_reply reply = {0};
	int err;

	*ret = (struct clickhouse_progress){
		.chunks = HASH_TABLE(struct clickhouse_chunk, 1, CHUNKS_MAX)};
	if (!name || asprintf(&sql, "SELECT count() FROM trace_rows WHERE trace = %s", name) < 0)
		return fail(-ENOMEM, "out of memory");
	err = query(c, c->database, sql, NULL, 0, &reply);
	if (err)
		return err;
	ret->complete = reply.body && strtoull(reply.body, NULL, 10);
	http_reply_deinit(&reply);
	return ret->complete ? 0 : chunks_read(c, name, ret);
}

void clickhouse_progress_deinit(struct clickhouse_progress *p)
{
	hash_deinit(&p->chunks);
}

/* ---- inserting ---- */

int clickhouse_chunk_put(struct clickhouse *c, const char *table, const char *columns,
			 const struct rowbinary_trace *trace, const struct rowbinary *b,
			 uint64_t chunk_size)
{
	_cleanup_free_ char *host = quoted(trace->host), *name = quoted(trace->id), *record = NULL;
	int err;

	if (!host || !name ||
	    asprintf(&record,
		     "(toDate(%u), %s, %s, %" PRIu32 ", %" PRIu64 ", %" PRIu64 ", %" PRIu32
		     ", %" PRIu64 ")", trace->day, host, name, b->chunk, b->upload, b->rows, b->crc,
		     chunk_size) < 0)
		return fail(-ENOMEM, "out of memory");
	err = insert_into(c, table, columns, "FORMAT RowBinary", b->data, b->len);
	if (!err)
		err = insert_into(c, "chunk_rows",
				  "day, host, trace, chunk, upload, rows, crc32c, chunk_size",
				  "VALUES", record, strlen(record));
	return err;
}

int clickhouse_trace_put(struct clickhouse *c, const json_t *row)
{
	_cleanup_free_ char *columns = NULL, *data = json_text_make(row, JSON_COMPACT);
	const char *key, *between = "";
	json_t *value;
	size_t len = 0;
	FILE *f = open_memstream(&columns, &len);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	json_object_foreach((json_t *)row, key, value) {
		fprintf(f, "%s%s", between, key);
		between = ", ";
	}
	if (!memstream_close(f, &columns) || !data)
		return fail(-ENOMEM, "out of memory");
	return insert_into(c, "trace_rows", columns, "FORMAT JSONEachRow", data, strlen(data));
}
