// SPDX-License-Identifier: GPL-2.0-or-later
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "upload/clickhouse_schema.h"

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
	"    cpu UInt16 CODEC(ZSTD(1)),\n"
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

char *clickhouse_schema_statement(const char *statement, bool old)
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
