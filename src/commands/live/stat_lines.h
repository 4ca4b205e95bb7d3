/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lines of `hostrace stat --interval`. */
#ifndef HOSTRACE_LIVE_STAT_LINES_H
#define HOSTRACE_LIVE_STAT_LINES_H

#include "output/output.h"
#include "views/stat_rows.h"

struct stat_lines {
	const struct output *out;
	const struct stat_naming *naming;
	int nr_parts;	  /* of which there are lines: vCPUs or VMs; 0: STAT_BY_REASON, one of all */
	uint64_t printed; /* lines so far */
};

struct stat_interval {
	uint64_t from_ns, until_ns;   /* since the start */
	uint64_t missed;	      /* exits of vCPUs that are not counted, since the start */
	const struct stat_rows *rows; /* of this interval; ordered by time here */
};

/*
 * Text: the heading comes first, and again on each screen of a terminal. CSV: the heading comes first. JSON: an object
 * per line, with the exits by reason in "rows". An interval without exits is a line of zeros. 0 or -errno with the
 * error message set.
 */
int stat_lines_print(struct stat_lines *l, const struct stat_interval *in);

#endif
