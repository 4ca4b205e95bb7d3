// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "quantiles.h"

/* Values below 256 stand for themselves (blocks 0 and 1); above, block e - 6 for 2^e <= value <
 * 2^(e+1). */
static unsigned int bucket_of(uint64_t v)
{
	if (v < 2 * QUANTILES_SUB)
		return (unsigned int)v;
	unsigned int e = 63u - (unsigned int)__builtin_clzll(v);

	return (e - 6) * QUANTILES_SUB + ((unsigned int)(v >> (e - 7)) & (QUANTILES_SUB - 1));
}

/* The middle of a bucket. */
static uint64_t bucket_value(unsigned int b)
{
	if (b < 2 * QUANTILES_SUB)
		return b;
	unsigned int e = b / QUANTILES_SUB + 6;
	uint64_t low = (uint64_t)(QUANTILES_SUB + b % QUANTILES_SUB) << (e - 7);

	return low + ((1ull << (e - 7)) - 1) / 2;
}

static int bucket_add(struct quantiles *q, uint64_t v)
{
	unsigned int b = bucket_of(v);
	uint64_t **block = &q->block[b / QUANTILES_SUB];

	if (!*block && !(*block = calloc(QUANTILES_SUB, sizeof(**block))))
		return fail(-ENOMEM, "out of memory");
	(*block)[b % QUANTILES_SUB]++;
	return 0;
}

static int exact_to_buckets(struct quantiles *q)
{
	int err = 0;

	for (uint64_t i = 0; i < q->count && !err; i++)
		err = bucket_add(q, q->exact[i]);
	free(q->exact);
	q->exact = NULL;
	q->bucketed = true;
	return err;
}

static int keep(struct quantiles *q, uint64_t value)
{
	if (q->bucketed)
		return bucket_add(q, value);
	if (q->count == QUANTILES_EXACT) {
		int err = exact_to_buckets(q);

		return err ? err : bucket_add(q, value);
	}
	if (!(q->count & (q->count - 1))) {
		void *more = realloc(q->exact, (q->count ? 2 * q->count : 1) * sizeof(*q->exact));

		if (!more)
			return fail(-ENOMEM, "out of memory");
		q->exact = more;
	}
	q->exact[q->count] = value;
	return 0;
}

int quantiles_add(struct quantiles *q, uint64_t value)
{
	int err = keep(q, value);

	if (err)
		return err;
	if (!q->count)
		q->min = q->max = value;
	long double d = (long double)value - q->mean;

	q->min = value < q->min ? value : q->min;
	q->max = value > q->max ? value : q->max;
	q->count++;
	q->sum += value;
	q->mean += d / (long double)q->count;
	q->squares += d * ((long double)value - q->mean);
	return 0;
}

void quantiles_free(struct quantiles *q)
{
	free(q->exact);
	for (unsigned int i = 0; i < QUANTILES_BLOCKS; i++)
		free(q->block[i]);
	*q = (struct quantiles){0};
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t quantiles_at(struct quantiles *q, double fraction)
{
	uint64_t rank = (uint64_t)ceil(fraction * (double)q->count - 1e-9), seen = 0;

	if (!q->count)
		return 0;
	rank = rank < 1 ? 1 : rank > q->count ? q->count : rank;
	if (!q->bucketed) {
		qsort(q->exact, q->count, sizeof(*q->exact), by_value);
		return q->exact[rank - 1];
	}
	for (unsigned int b = 0; b < QUANTILES_BLOCKS * QUANTILES_SUB; b++) {
		const uint64_t *block = q->block[b / QUANTILES_SUB];

		if (!block) {
			b |= QUANTILES_SUB - 1;
			continue;
		}
		seen += block[b % QUANTILES_SUB];
		if (seen >= rank) {
			uint64_t v = bucket_value(b);

			return v < q->min ? q->min : v > q->max ? q->max : v;
		}
	}
	return q->max;
}

double quantiles_stddev(const struct quantiles *q)
{
	return q->count ? (double)sqrtl(q->squares / (long double)q->count) : 0;
}
