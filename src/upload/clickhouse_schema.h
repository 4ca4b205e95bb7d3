/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables of `hostrace export clickhouse`, as SQL statements. They are written for current servers; for those before
 * 20.3 what these lack is removed: codecs of columns, and LowCardinality.
 */
#ifndef HOSTRACE_CLICKHOUSE_SCHEMA_H
#define HOSTRACE_CLICKHOUSE_SCHEMA_H

#include <stdbool.h>

/* To be executed in this order; ends with NULL. */
extern const char *const clickhouse_schema[];

/* The statement for such a server; allocated. NULL: out of memory. */
char *clickhouse_schema_statement(const char *statement, bool old);

#endif
