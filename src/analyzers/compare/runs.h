/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a figure differ between several runs and several others? Runs of one workload differ by more than their blocks
 * of time show: memory was allocated elsewhere, the host did other work. So the variance of a figure is that of a
 * bootstrap that draws runs, and in each run blocks of time: stretches of neighbouring ones, which depend on each
 * other. It is multiplied by n / (n - 1), because n runs drawn from n vary less than their population does.
 *
 * Two or three runs alone say little on how runs vary. So both sides are taken to vary alike, in proportion to their
 * values, and their variances are pooled; the difference is compared with Student's distribution with as many degrees
 * of freedom as there are runs, less two. A side of one run so varies as the other side's runs do, or as its own blocks
 * do, if that is more.
 */
#ifndef HOSTRACE_COMPARE_RUNS_H
#define HOSTRACE_COMPARE_RUNS_H

#include "analyzers/compare/series.h"

enum { COMPARE_RUNS_MAX = 32 };

/* What of a key is compared. A share is the percentage of all measurements of its kind: for unknown lengths. */
enum figure_of { FIGURE_RATE, FIGURE_LATENCY, FIGURE_SHARE };

struct runs_side {
	unsigned int nr;			/* of runs, at most COMPARE_RUNS_MAX */
	struct series *const *series;		/* of each run; NULL: it has nothing of this key */
	const unsigned int *blocks;		/* of each run */
	double block_s;
};

struct runs_test {
	double low, high; /* interval of the change with a confidence of 95 %; NAN: not known */
	double p_value; /* of the hypothesis: the change is at most the margin; NAN: too few measurements */
};

/* One side has two runs or more. The same input has the same result. 0 or -ENOMEM with the error message set. */
int runs_test(const struct runs_side *a, const struct runs_side *b, enum figure_of of,
	      double margin, struct runs_test *ret);

#endif
