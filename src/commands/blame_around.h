/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_COMMANDS_BLAME_AROUND_H
#define HOSTRACE_COMMANDS_BLAME_AROUND_H

#include "analyzers/blame/summary.h"
#include "input/input_set.h"

enum { AROUND_EXITS_MAX = 100, AROUND_EVENTS_MAX = 1000 /* of one exit */ };

/* The events around the kept exits of a summary, as text or JSON; each is NULL or to be freed. */
struct around {
	char *text[AROUND_EXITS_MAX];	  /* lines; or JSON objects, separated by ',' */
	uint64_t left_out[AROUND_EXITS_MAX]; /* events beyond AROUND_EVENTS_MAX */
};

/*
 * Reads the inputs of the options again, with guests' traces, and keeps the events of each exit's VM from `around_ns`
 * before it until `around_ns` after it. 0 or -errno with the error message set.
 */
int around_read(const struct blame_summary *s, uint64_t around_ns, bool json, uint64_t start_ns,
		const struct addresses *symbols, struct around *ret);
void around_free(struct around *a);

#endif
