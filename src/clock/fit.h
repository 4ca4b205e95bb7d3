/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The search of the fitted clock. The unknown is a line: what must be added to the provisional host time x of a
 * guest event is
 *
 *   shift(u) = a + e * u,   u = -1/2 at the first event, +1/2 at the last
 *
 * so a is the shift in the middle of the recording and e is the drift of the clocks over its whole length. Every event
 * excludes the (a, e) that would put it into a gap between two spans of its vCPU; the feasible set is what no event
 * forbids. All numbers are host ticks as doubles, relative to a base, so that 2^53 ticks (40 days) are exact.
 */
#ifndef HOSTRACE_CLOCK_FIT_H
#define HOSTRACE_CLOCK_FIT_H

#include "clock/clock.h"

enum { FIT_LEVELS = 56 }; /* box sizes by halving, from 2^0 ticks of half width */

/* The spans of one vCPU, widened by the host's own error, with a table that finds the span of a time at once. */
struct fit_spans {
	double *enter, *leave;
	size_t nr;
	uint32_t *bucket; /* bucket[i]: spans that enter before bucket i begins */
	size_t nr_buckets;
	double buckets_per_tick, max_gap, median_cycle;
	double grain; /* average length of a gap or of a span, whichever is shorter: closer offsets are no others */
	double hit[FIT_LEVELS]; /* share of the time that is inside of gaps and 2^level from their ends */
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
	double hit[FIT_LEVELS]; /* by level: the chance that a box of half width 2^level is refuted
				   by a wrong event */
	uint64_t *work;		     /* steps left; the search stops at 0 */
};

/* Where to search. */
struct fit_range {
	double a_lo, a_hi, e_lo, e_hi;
};

/*
 * The feasible set's hull: the shift at the first event is in [first_lo, first_hi], at the last in [last_lo,
 * last_hi].
 */
struct fit_hull {
	double first_lo, first_hi, last_lo, last_hi;
	size_t nr_leaves; /* pieces found: 0 = infeasible */
	size_t violations; /* events that even the best line leaves outside */
	double x_mid, length; /* of the events it was found with */
};

/*
 * Steps of one clock_fit(), as in CLOCK_WORK_MAX, for the search alone: so many, and as many for each event, but no
 * more than the last. The most that tests need is 70 % of it.
 */
#define FIT_WORK 20000000ull
#define FIT_WORK_PER_EVENT 4096ull
#define FIT_WORK_MAX 400000000ull

enum { FIT_EVENTS_MIN = 16 }; /* fewer prove nothing */

/* Minimum share of the events that must be in the host's recording: some may be at its very ends. */
#define FIT_SHARE_ALL 0.98

struct fit_base {
	uint64_t guest, host; /* x = 0 */
	uint64_t scale;
	uint32_t bits;
};

/* One call of clock_fit(). */
struct fit_job {
	const struct clock_input *in;
	unsigned int nr;
	const struct clock_options *opt;
	struct fit_spans *spans; /* per vCPU */
	struct fit_base base;
	uint64_t *work; /* of the search; opt->work is of all */
};

/* ---- fit_data.c ---- */

int fit_spans_init(struct fit_spans *s, const struct clock_span *span, size_t nr, uint64_t base,
		   double widen);
void fit_spans_deinit(struct fit_spans *s);

/* Sorts events, sets x_mid, length, u and the rest from event[].x and .spans, and bound[].x. */
int fit_prepare(struct fit *f);

/* Before that: keeps only so many events, from the middle of the recording. */
void fit_keep_central(struct fit *f, size_t nr);

void fit_deinit(struct fit *f);

/* ---- fit_search.c ---- */

/*
 * All lines that put no event into a gap and at least `need` events into the host's recording. hull->nr_leaves is 0 if
 * there is none. `any`: one piece is enough (is it feasible at all?). -E2BIG: stopped, too little structure.
 */
int fit_search(struct fit *f, const struct fit_range *range, size_t need, bool any,
	       struct fit_hull *hull);

/* The lines that violate the fewest, at most `most`; hull over all of the best. Coarser: to f->fine / 64. */
int fit_search_best(struct fit *f, const struct fit_range *range, size_t need, size_t most,
		    struct fit_hull *hull);

/* ---- fit.c ---- */

/*
 * Events [from, to) of one vCPU, or all events of all when vcpu < 0; of them the central ones, at
 * most `most`. Free with fit_deinit() in any case. -ENODATA: too few.
 */
int fit_make(const struct fit_job *j, int vcpu, size_t from, size_t to, size_t most, struct fit *f);

/*
 * Where the line can be: anywhere that brings the two recordings together; or, if lines are known that fit a part of
 * these events (may be NULL), no further than those lines: a line that fits all events fits any subset.
 */
struct fit_range fit_range_of(const struct fit_job *j, const struct fit *f,
			      const struct fit_hull *known);

size_t fit_need(const struct fit *f, double share);
double fit_hull_bound(const struct fit_hull *h);

/* Appends the middle of the hull to v as a segment, and widens v's bound. */
int fit_take(const struct fit_job *j, const struct fit *f, const struct fit_hull *h,
	     struct clock_vcpu *v);

/* ---- fit_pieces.c ---- */

/* One vCPU whose offset jumped: as few segments as possible. -ENODATA: cannot be determined. */
int fit_pieces(const struct fit_job *j, unsigned int vcpu, struct clock_vcpu *v);

#endif
