/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many durations were summed up looks in a table: the same columns in `summary` and in `stat`. */
#ifndef HOSTRACE_DURATIONS_H
#define HOSTRACE_DURATIONS_H

#include "output/table.h"

struct durations {
	uint64_t count, total_ns, min_ns, mean_ns, max_ns, deviation_ns;
	uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
	uint64_t userspace; /* exits: how many of them went on to user space */
	uint64_t all_ns;    /* total_ns of all rows together */
};

/* Columns of a struct durations. Those of user space are of exits only. */
extern const struct column_def durations_columns[], durations_userspace[];

/* The same keys as an object: a new reference. */
json_t *durations_json(const struct durations *d);

#endif
