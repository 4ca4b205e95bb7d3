/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_REPORTS_BLAME_AROUND_H
#define HOSTRACE_REPORTS_BLAME_AROUND_H

#include "reports/reports.h"

enum { AROUND_EXITS_MAX = 100, AROUND_EVENTS_MAX = 1000 /* of one exit */ };

/* The events around the kept exits of a summary, as text or JSON; each is NULL or to be freed. */
struct around {
	char *text[AROUND_EXITS_MAX];	  /* lines; or JSON objects, separated by ',' */
	uint64_t left_out[AROUND_EXITS_MAX]; /* events beyond AROUND_EVENTS_MAX */
};

/*
 * Reads the inputs of the report `of` again, with guests' traces, and keeps the events of each exit's VM from
 * around_ns of its query before it until so long after it. 0 or -errno with the error message set.
 */
int around_read(const struct result *of, const struct blame_summary *s, struct around *ret);
void around_free(struct around *a);

#endif
