/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of a trace that a report covers. */
#ifndef HOSTRACE_TIME_RANGE_H
#define HOSTRACE_TIME_RANGE_H

#include <stdbool.h>
#include <stdint.h>

/* [since, until) in ns; has_* false: not given. */
struct time_range {
	bool has_since, has_until;
	double since_ns, until_ns;
};

static inline bool time_range_has(const struct time_range *r, uint64_t time_ns)
{
	return (!r->has_since || (double)time_ns >= r->since_ns) &&
	       (!r->has_until || (double)time_ns < r->until_ns);
}

/*
 * The length of the part of [start, start + duration] within the range; false if they do not touch. Touching at one
 * point counts, with length 0 (as in OSv's tool); a span that ends before it begins does not.
 */
static inline bool time_range_trim(const struct time_range *r, uint64_t start_ns,
				   int64_t duration_ns, double *ret_ns)
{
	double since = (double)start_ns, until = since + (double)duration_ns;

	if (r->has_since && since < r->since_ns)
		since = r->since_ns;
	if (r->has_until && until > r->until_ns)
		until = r->until_ns;
	*ret_ns = until - since;
	return until >= since;
}

#endif
