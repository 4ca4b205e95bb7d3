/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rows to a ClickHouse server, by HTTP. Each row is there once, whatever happens to the server, the network or this
 * program:
 *
 * A trace is cut into chunks, which are the same each time: chunk N of trace T is always the same rows. An attempt to
 * insert a chunk has a random number, `upload`, which all its rows have. Once the server has confirmed the rows, a row
 * of chunk_rows records the attempt. The views `events` and `spans` show the rows of recorded attempts only, and of
 * each chunk those of one attempt. So rows of an attempt that failed are never seen, not even if the server executes it
 * later; a chunk that two programs insert at the same time is seen once; and what is recorded is complete.
 */
#ifndef HOSTRACE_CLICKHOUSE_H
#define HOSTRACE_CLICKHOUSE_H

#include <jansson.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "fetch/http.h"
#include "output/rowbinary.h"

struct clickhouse_options {
	const char *url, *database; /* borrowed */
	struct http_options http;
};

struct clickhouse;

/* Asks the server for its version. NULL with the error message set. */
struct clickhouse *clickhouse_open(const struct clickhouse_options *opt);
void clickhouse_close(struct clickhouse *c);
DEFINE_CLEANUP(clickhouse, struct clickhouse *, clickhouse_close);

/* Creates the database and the tables that are missing. 0 or -errno with the error message set. */
int clickhouse_create(struct clickhouse *c);

/* What the server has of a trace. */
struct clickhouse_chunk {
	uint64_t chunk, rows;
	uint32_t crc;
};

struct clickhouse_progress {
	bool complete;
	uint64_t chunk_size;	  /* limit of rows, with which the trace was cut; 0: it has nothing */
	struct hash_table chunks; /* of struct clickhouse_chunk */
};

int clickhouse_progress(struct clickhouse *c, const char *trace, struct clickhouse_progress *ret);
void clickhouse_progress_deinit(struct clickhouse_progress *p);

/* Inserts a chunk of rows into a table and records it. */
int clickhouse_chunk_put(struct clickhouse *c, const char *table, const char *columns,
			 const struct rowbinary_trace *trace, const struct rowbinary *b,
			 uint64_t chunk_size);

/* Records that the trace is complete; `row`: an object whose keys are columns of trace_rows. */
int clickhouse_trace_put(struct clickhouse *c, const json_t *row);

/* To be executed in this order; ends with NULL. */
extern const char *const clickhouse_schema[];

#endif
