/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search behind the fitted clock. The unknown is a line: what must be added to the provisional host time x of a
 * guest event is
 *
 *   shift(u) = a + e * u,   u = -1/2 at the first event, +1/2 at the last
 *
 * so a is the shift in the middle of the recording and e is what the clocks drift apart over all of it. Every event
 * forbids the (a, e) that would put it into a gap between two spans of its vCPU; the feasible set is what nobody
 * forbids. All numbers are host ticks as doubles, relative to a base, so that 2^53 ticks (40 days) are exact.
 */
#ifndef HOSTRACE_CLOCK_FIT_H
#define HOSTRACE_CLOCK_FIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "clock.h"

/* The spans of one vCPU, widened by the host's own error, with a table that finds the span of a time at once. */
struct fit_spans {
	double *enter, *leave;
	size_t nr;
	uint32_t *bucket; /* bucket[i]: spans that enter before bucket i begins */
	size_t nr_buckets;
	double buckets_per_tick, max_gap, median_cycle;
};

struct fit_event {
	double x, u;
	const struct fit_spans *spans;
};

struct fit_bound {
	double x, u, host;
	bool guest_first;
};

struct fit {
	struct fit_event *event; /* by |u|, smallest first */
	size_t nr;
	struct fit_bound *bound;
	size_t nr_bounds;
	double x_mid, length; /* u = (x - x_mid) / length */
	double *sorted_x;	     /* of all events, to count how many fall into the host's recording */
	double cover_lo, cover_hi;   /* of the host's recording, all vCPUs */
	double max_gap, fine;
	uint64_t work;		     /* event tests left; the search gives up at 0 */
};

/* Where to search: a in [a_lo, a_hi], |e| <= e_max. */
struct fit_range {
	double a_lo, a_hi, e_max;
};

/*
 * The feasible set's hull: the shift at the first event lies in [first_lo, first_hi], at the last in
 * [last_lo, last_hi].
 */
struct fit_hull {
	double first_lo, first_hi, last_lo, last_hi;
	size_t nr_leaves; /* pieces found: 0 = infeasible */
	size_t violations; /* events that even the best line leaves outside */
};

/* Event tests of one search: some ten seconds. */
#define FIT_WORK_MAX 1000000000ull

int fit_spans_init(struct fit_spans *s, const struct clock_span *span, size_t nr, uint64_t base,
		   double widen);
void fit_spans_deinit(struct fit_spans *s);

/* Sorts events, sets x_mid, length, u and the rest from event[].x and .spans, and bound[].x. */
int fit_prepare(struct fit *f);

/*
 * All lines that put no event into a gap and at least `need` events into the host's recording. hull->nr_leaves is 0 if
 * there is none. `any`: one piece is enough (is it feasible at all?). -E2BIG: gave up, too little structure.
 */
int fit_search(struct fit *f, const struct fit_range *range, size_t need, bool any,
	       struct fit_hull *hull);

/* The lines that violate the fewest, at most `most`; hull over all of the best. Coarser: to f->fine / 64. */
int fit_search_best(struct fit *f, const struct fit_range *range, size_t need, size_t most,
		    struct fit_hull *hull);

#endif
