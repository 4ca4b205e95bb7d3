/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hostrace stat --interval`: a line per interval (and vCPU), as vmstat prints them. */
#ifndef HOSTRACE_STAT_LINES_H
#define HOSTRACE_STAT_LINES_H

#include "output/output.h"
#include "views/stat_rows.h"

struct stat_lines {
	const struct output *out;
	const char *(*name_of)(uint32_t reason);
	int nr_vcpus;	  /* lines per interval; 0: one for all vCPUs */
	uint64_t printed; /* lines so far */
};

struct stat_interval {
	uint64_t from_ns, until_ns; /* since the start */
	uint64_t missed;	    /* exits of hot-plugged vCPUs, since the start */
	const struct stat_rows *rows; /* of this interval; ordered by time here */
};

/*
 * Text: the heading comes first, and again on each screen of a terminal. CSV: the heading comes first. JSON: an object
 * per line, with the exits by reason in "rows". An interval without exits is a line of zeros. 0 or -errno with the
 * error message set.
 */
int stat_lines_print(struct stat_lines *l, const struct stat_interval *interval);

#endif
