/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The distribution of many values in little memory. */
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

/* Buffers the short values of a busy distribution: counted in little memory, which stays in the cache. */
struct quantiles_buffer;

struct quantiles {
	struct quantiles_buffer *buffer; /* holds what is not counted below yet; or NULL */
	uint64_t count, min, max;
	unsigned __int128 sum __attribute__((packed, aligned(8))); /* it is part of entries of hash tables */
	uint64_t squares[3]; /* sum of squares, lowest word first */
	uint64_t *exact;     /* until the buckets are used */
	uint64_t **block;    /* QUANTILES_BLOCKS, each NULL while it is empty; NULL: no bucket is used */
	bool bucketed;
};

/* Zero-initialised is empty. 0 or -ENOMEM. */
int quantiles_add(struct quantiles *q, uint64_t value);
void quantiles_free(struct quantiles *q);

/* Adds all that `from` has, which must then only be freed. 0 or -ENOMEM. */
int quantiles_merge(struct quantiles *q, struct quantiles *from);

/* Gives it a buffer (6 KiB); without it, results are the same but slower. */
void quantiles_buffer_start(struct quantiles *q);

/* Counts what is in the buffer: must be called before results are read. 0 or -ENOMEM. */
int quantiles_flush(struct quantiles *q);

enum {
	QUANTILES_BUFFER_BITS = 22,				      /* values below 4 ms */
	QUANTILES_BUFFER_BUCKETS = (QUANTILES_BUFFER_BITS - 6) * QUANTILES_SUB, /* of them */
	QUANTILES_BUFFER_MAX = 60000, /* values between two quantiles_flush(), so that no counter overflows */
};

struct quantiles_buffer {
	uint64_t sum, squares; /* 60000 * 2^44 fits */
	uint64_t min, range;   /* all values are min .. min + range */
	uint16_t count[QUANTILES_BUFFER_BUCKETS];
	bool used;
};

/* Values below 256 have a bucket each (blocks 0 and 1); above, block e - 6 for 2^e <= v < 2^(e+1). */
static inline unsigned int quantiles_bucket(uint64_t v)
{
	unsigned int e = 63u - (unsigned int)__builtin_clzll(v | QUANTILES_SUB);

	return (e - 7) * QUANTILES_SUB + (unsigned int)(v >> (e - 7));
}

void quantiles_buffer_widen(struct quantiles_buffer *h, uint64_t value);

/* Adds a value below 2^QUANTILES_BUFFER_BITS to the buffer. */
static inline void quantiles_buffer_add(struct quantiles_buffer *h, uint64_t value)
{
	h->sum += value;
	h->squares += value * value;
	if (__builtin_expect(value - h->min > h->range, 0))
		quantiles_buffer_widen(h, value);
	h->count[quantiles_bucket(value)]++;
}

/* The ceil(fraction * count)-th smallest value (nearest rank); 0 if there is none. Sorts the exact values. */
uint64_t quantiles_at(struct quantiles *q, double fraction);

/* Of the population: the square root of the mean squared distance from the mean. */
double quantiles_stddev(const struct quantiles *q);

static inline uint64_t quantiles_mean(const struct quantiles *q)
{
	return q->count ? (uint64_t)(q->sum / q->count) : 0;
}

#endif
