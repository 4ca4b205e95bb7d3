/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The distribution of many values in little memory. Up to QUANTILES_EXACT values are kept as they
 * are; beyond that they are counted in buckets of 1/128 of their power of two (below 256: one
 * bucket per value), so that a quantile is off by at most 0.4 %. Minimum, maximum, sum and standard
 * deviation are always exact.
 */
#ifndef HOSTRACE_QUANTILES_H
#define HOSTRACE_QUANTILES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	QUANTILES_EXACT = 128,
	QUANTILES_SUB = 128,   /* buckets per power of two */
	QUANTILES_BLOCKS = 58, /* blocks of QUANTILES_SUB buckets: values below 256, then one per
				  power of two */
};

struct quantiles {
	uint64_t count, min, max;
	unsigned __int128 sum;
	long double mean, squares; /* Welford: running mean, sum of squared distances from it */
	uint64_t *exact; /* until the buckets take over */
	uint64_t *block[QUANTILES_BLOCKS];
	bool bucketed;
};

/* Zero-initialised is empty. 0 or -ENOMEM. */
int quantiles_add(struct quantiles *q, uint64_t value);
void quantiles_free(struct quantiles *q);

/* The ceil(fraction * count)-th smallest value (nearest rank); 0 if there is none. Sorts the exact
 * values. */
uint64_t quantiles_at(struct quantiles *q, double fraction);

/* Of the population: the square root of the mean squared distance from the mean. */
double quantiles_stddev(const struct quantiles *q);

static inline uint64_t quantiles_mean(const struct quantiles *q)
{
	return q->count ? (uint64_t)(q->sum / q->count) : 0;
}

#endif
