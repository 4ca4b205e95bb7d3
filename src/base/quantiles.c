// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The distribution of many values in little memory. Up to QUANTILES_EXACT values are kept as they
 * are; above that, they are counted in buckets of 1/128 of their power of two (below 256: one
 * bucket per value), so that a quantile is off by at most 0.4 %. Minimum, maximum, sum and sum of
 * squares are exact integers. The result does not depend on the order of the values: parts that were summed
 * up separately can be merged, with exactly the result of a single pass.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "base/quantiles.h"

/* The middle of a bucket. */
static uint64_t bucket_value(unsigned int b)
{
	if (b < 2 * QUANTILES_SUB)
		return b;
	unsigned int e = b / QUANTILES_SUB + 6;
	uint64_t low = (uint64_t)(QUANTILES_SUB + b % QUANTILES_SUB) << (e - 7);

	return low + ((1ull << (e - 7)) - 1) / 2;
}

static int bucket_count(struct quantiles *q, unsigned int b, uint64_t n)
{
	uint64_t **block;

	if (!q->block && !(q->block = calloc(QUANTILES_BLOCKS, sizeof(*q->block))))
		return fail(-ENOMEM, "out of memory");
	block = &q->block[b / QUANTILES_SUB];
	if (!*block && !(*block = calloc(QUANTILES_SUB, sizeof(**block))))
		return fail(-ENOMEM, "out of memory");
	(*block)[b % QUANTILES_SUB] += n;
	return 0;
}

static int bucket_add(struct quantiles *q, uint64_t v)
{
	return bucket_count(q, quantiles_bucket(v), 1);
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
	if (array_room(q->exact, q->count))
		return -ENOMEM;
	q->exact[q->count] = value;
	return 0;
}

static void squares_add(struct quantiles *q, unsigned __int128 n)
{
	unsigned __int128 low = (unsigned __int128)q->squares[0] + (uint64_t)n,
			  high = (unsigned __int128)q->squares[1] + (uint64_t)(n >> 64) +
				 (uint64_t)(low >> 64);

	q->squares[0] = (uint64_t)low;
	q->squares[1] = (uint64_t)high;
	q->squares[2] += (uint64_t)(high >> 64);
}

int quantiles_add(struct quantiles *q, uint64_t value)
{
	int err = keep(q, value);

	if (err)
		return err;
	if (!q->count)
		q->min = q->max = value;
	q->min = value < q->min ? value : q->min;
	q->max = value > q->max ? value : q->max;
	q->count++;
	q->sum += value;
	squares_add(q, (unsigned __int128)value * value);
	return 0;
}

/* ---- the first stage ---- */

void quantiles_buffer_start(struct quantiles *q)
{
	if (!q->buffer && q->bucketed)
		q->buffer = calloc(1, sizeof(*q->buffer));
}

/* Zeros alone do not widen it: a cleared buffer's only value is 0. */
static bool buffer_is_empty(const struct quantiles_buffer *h)
{
	return !h->used && !h->count[0];
}

void quantiles_buffer_widen(struct quantiles_buffer *h, uint64_t value)
{
	uint64_t max = h->min + h->range;

	if (buffer_is_empty(h))
		h->min = max = value;
	h->used = true;
	max = value > max ? value : max;
	h->min = value < h->min ? value : h->min;
	h->range = max - h->min;
}

int quantiles_flush(struct quantiles *q)
{
	struct quantiles_buffer *h = q->buffer;
	uint64_t max = h ? h->min + h->range : 0;
	int err = 0;

	if (!h || buffer_is_empty(h))
		return 0;
	for (unsigned int b = quantiles_bucket(h->min); b <= quantiles_bucket(max) && !err; b++) {
		q->count += h->count[b];
		err = h->count[b] ? bucket_count(q, b, h->count[b]) : 0;
	}
	q->min = h->min < q->min ? h->min : q->min;
	q->max = max > q->max ? max : q->max;
	q->sum += h->sum;
	squares_add(q, h->squares);
	memset(h, 0, sizeof(*h));
	return err;
}

/* ---- parts ---- */

static int buckets_merge(struct quantiles *q, const struct quantiles *from)
{
	int err = q->bucketed ? 0 : exact_to_buckets(q);

	for (unsigned int i = 0; from->block && i < QUANTILES_BLOCKS && !err; i++)
		for (unsigned int b = 0; from->block[i] && b < QUANTILES_SUB && !err; b++)
			if (from->block[i][b])
				err = bucket_count(q, i * QUANTILES_SUB + b, from->block[i][b]);
	return err;
}

int quantiles_merge(struct quantiles *q, struct quantiles *from)
{
	int err = quantiles_flush(q);

	if (!err)
		err = quantiles_flush(from);
	for (uint64_t i = 0; !from->bucketed && i < from->count && !err; i++)
		err = quantiles_add(q, from->exact[i]);
	if (!from->bucketed || err)
		return err;
	err = buckets_merge(q, from);
	q->min = !q->count || from->min < q->min ? from->min : q->min;
	q->max = from->max > q->max ? from->max : q->max;
	q->count += from->count;
	q->sum += from->sum;
	squares_add(q, (unsigned __int128)from->squares[1] << 64 | from->squares[0]);
	q->squares[2] += from->squares[2];
	return err;
}

void quantiles_free(struct quantiles *q)
{
	free(q->buffer);
	free(q->exact);
	for (unsigned int i = 0; q->block && i < QUANTILES_BLOCKS; i++)
		free(q->block[i]);
	free(q->block);
	*q = (struct quantiles){0};
}

uint64_t quantiles_at(struct quantiles *q, double fraction)
{
	uint64_t rank = (uint64_t)ceil(fraction * (double)q->count - 1e-9), seen = 0;

	if (!q->count)
		return 0;
	rank = rank < 1 ? 1 : rank > q->count ? q->count : rank;
	if (!q->bucketed) {
		qsort(q->exact, q->count, sizeof(*q->exact), order_numbers);
		return q->exact[rank - 1];
	}
	for (unsigned int b = 0; q->block && b < QUANTILES_BLOCKS * QUANTILES_SUB; b++) {
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

/* out, of as many words as both, = a * b. */
static void multiply(const uint64_t *a, unsigned int nr_a, const uint64_t *b, unsigned int nr_b,
		     uint64_t *out)
{
	memset(out, 0, (nr_a + nr_b) * sizeof(*out));
	for (unsigned int i = 0; i < nr_a; i++) {
		uint64_t carry = 0;

		for (unsigned int j = 0; j < nr_b; j++) {
			unsigned __int128 v = (unsigned __int128)a[i] * b[j] + out[i + j] + carry;

			out[i + j] = (uint64_t)v;
			carry = (uint64_t)(v >> 64);
		}
		out[i + nr_b] = carry;
	}
}

/* The variance is (n * sum of squares - sum^2) / n^2, whose numerator is an exact integer. */
double quantiles_stddev(const struct quantiles *q)
{
	uint64_t sum[2] = {(uint64_t)q->sum, (uint64_t)(q->sum >> 64)}, left[4], right[4];
	long double difference = 0;
	bool borrow = false;

	if (!q->count)
		return 0;
	multiply(q->squares, 3, &q->count, 1, left);
	multiply(sum, 2, sum, 2, right);
	for (unsigned int i = 0; i < 4; i++) {
		uint64_t word = left[i] - right[i] - borrow;

		borrow = left[i] < right[i] || (borrow && left[i] == right[i]);
		difference += ldexpl((long double)word, 64 * (int)i);
	}
	return (double)(sqrtl(difference) / (long double)q->count);
}
