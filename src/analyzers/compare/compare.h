/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between two recordings. Both are cut into blocks of the same length, and for each key the rates in the
 * blocks of one are compared with those in the blocks of the other by base/rank_test.h; so are the mean durations, and
 * these by base/batch_test.h, too: the smaller one of both p-values counts, doubled. What is compared are blocks and
 * not single measurements because those of the same moment are not independent: a burst of 10,000 slow exits is one
 * fact and not 10,000, and changes the ranks of one or two blocks.
 *
 * A figure has changed if it differs by more than `margin`, at a level of significance that holds for all figures of a
 * comparison together. A latency must also have changed by so much that it takes `min_share` of the recording's time
 * more or less: a stage of 20 us that occurs ten times a second differs from run to run by half.
 *
 * If one of both sides has several runs, the runs are compared instead (runs.h).
 */
#ifndef HOSTRACE_COMPARE_H
#define HOSTRACE_COMPARE_H

#include "analyzers/compare/runs.h"

enum {
	COMPARE_BLOCKS = 64, /* the shortest recording has so many, up to twice that */
};

/* One side: a recording, or several runs of the same. */
struct compared_runs {
	unsigned int nr;
	uint64_t span_ns[COMPARE_RUNS_MAX]; /* 0: a table does not say it */
};

/* Index 0: of the first side, 1: of the second one; of all its runs together. */
struct figure {
	const char *by; /* what the key is: "reason", "queue", ... */
	const char *key; /* borrowed from the set */
	enum figure_of of;
	uint64_t nr[2];
	uint64_t p50_ns[2], p99_ns[2]; /* SERIES_UNKNOWN_NS: only the mean is known */
	double value[2];	       /* events per second, mean in ns, or percent */
	double change;		       /* value[1] / value[0] - 1; infinite if value[0] is 0 */
	double *run[2]; /* owned: each run's value; NAN: no measurements of a latency. NULL: no runs are compared */

	/* Of the blocks; only if tested. */
	bool tested; /* else there are too few blocks with measurements */
	double low, high; /* interval of the change of a typical block, with a confidence of 95 %; NAN: not known */
	double p_value, p_adjusted; /* of the hypothesis that the change is at most the margin */
	bool small; /* has changed, but takes less than min_share of the time more or less */
	bool changed;
};

struct comparison {
	double margin, level, min_share; /* set by the caller */
	bool untested;	     /* also: one of them is a table, which has no blocks of time */
	struct compared_runs runs[2];
	unsigned int blocks[2][COMPARE_RUNS_MAX];
	uint64_t span_ns[2]; /* of all runs; 0: a table does not say it */
	bool shares;	     /* for that reason shares are compared, not rates */
	bool stated_rates[2]; /* ... but for those that a table states */
	uint64_t all[2];     /* measurements of the kind that is being added */
	uint64_t block_ns;
	unsigned int shift;
	struct figure *figure;
	size_t nr, nr_tested, nr_changed, nr_small;
};

/* The length of blocks, as 1 << shift ns, that suits recordings which are compared with each other. */
unsigned int comparison_shift(const struct compared_runs *side, unsigned int nr_sides);

/* To be called before the first comparison_add(). */
void comparison_begin(struct comparison *c, const struct compared_runs *a,
		      const struct compared_runs *b, unsigned int shift);

/*
 * Compares the sets of one side's runs with those of the other's. Their series have keys, and they must live as long as
 * the comparison. 0 or -ENOMEM with the error message set.
 */
int comparison_add(struct comparison *c, const char *by, struct series_set *const *a,
		   struct series_set *const *b, bool rate, bool latency);

/* Are there several runs of one side? */
bool comparison_of_runs(const struct comparison *c);

/*
 * After the last one: corrects for the number of tests, and sorts: what has changed first, the largest change first;
 * then the others, the least probable first.
 */
int comparison_end(struct comparison *c);

void comparison_free(struct comparison *c);

#endif
