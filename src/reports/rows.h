/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events one a row: `list`, and `export json|jsonl|csv`. */
#ifndef HOSTRACE_REPORTS_ROWS_H
#define HOSTRACE_REPORTS_ROWS_H

#include "input/input_set.h"
#include "output/event_rows.h"
#include "output/output.h"

/*
 * Writes every selected event of an open input set as rows in out's format (text, json, jsonl, csv), at most out->limit
 * of them, with the head or foot of every report. Shared by `list` and `export json|jsonl|csv`. 0 or -errno with the
 * error message set.
 */
struct rows_query {
	const char *command;
	uint64_t max_frames; /* of a backtrace; 0: all */
	const char *columns; /* only these, see event_formats.h; NULL: all */
	struct addresses *symbols; /* names of all addresses; NULL: those that a source brings, unless */
	bool no_symbols;
	bool flags;  /* ftrace's latency flags, in text and JSON */
	bool follow; /* each row is written out before the next one is waited for */
};
int rows_write(const struct rows_query *q, const struct input_set *in, struct output *out);

/*
 * Calls `put` for the same events, without their VMs' names and symbols; `lost` is how many lost events are known so
 * far. It returns 0, or -errno with the error message set, which ends the loop and is returned.
 */
typedef int rows_put(void *arg, const struct event_row *row, uint64_t lost);
int rows_each(const struct input_set *in, rows_put *put, void *arg);

#endif
