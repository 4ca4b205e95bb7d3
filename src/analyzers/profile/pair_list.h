/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pairs of a trace one by one: the data of `list-timed`. */
#ifndef HOSTRACE_PAIR_LIST_H
#define HOSTRACE_PAIR_LIST_H

#include "analyzers/profile/sample_pairs.h"
#include "analyzers/profile/time_range.h"

enum pair_sort { PAIRS_UNSORTED, PAIRS_BY_DURATION, PAIRS_BY_TIME };

struct pair_list_options {
	struct time_range range;
	enum pair_sort sort;
	bool compat;
};

/*
 * Calls `put` for each pair that touches the range: longest first, by the time of their begin, or in the order in
 * which they ended. Reads the trace from its start. 0, what `put` returned if not 0, or -errno with the error message
 * set.
 */
int pair_list(struct sample_trace *t, const struct pair_list_options *opt,
	      int (*put)(void *arg, const struct sample_pair *pair), void *arg);

#endif
