/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How many durations were summed up looks in a table: the same columns in `summary` and in `stat`. */
#ifndef HOSTRACE_DURATIONS_H
#define HOSTRACE_DURATIONS_H

#include <jansson.h>

#include "output/table.h"

struct durations {
	uint64_t count, total_ns, min_ns, mean_ns, max_ns, deviation_ns;
	uint64_t p50_ns, p90_ns, p99_ns, p999_ns;
	uint64_t userspace; /* exits: how many of them went on to user space */
};

/* Adds the columns; those of user space only if asked for. */
void durations_columns(struct table *t, bool userspace);

/* Fills the cells of a row from the first of these columns on; all_ns: total_ns of all rows together. */
void durations_cells(struct cell *c, const struct durations *d, uint64_t all_ns, bool userspace);

/* The same keys as an object: a new reference. */
json_t *durations_json(const struct durations *d);

#endif
