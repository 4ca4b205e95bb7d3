/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Random numbers that are the same in every run (splitmix64). */
#ifndef TESTS_RANDOM_UTIL_H
#define TESTS_RANDOM_UTIL_H

#include <math.h>
#include <stdint.h>

struct random {
	uint64_t state;
};

static inline uint64_t random_next(struct random *r)
{
	uint64_t z = r->state += 0x9e3779b97f4a7c15ull;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static inline uint64_t random_below(struct random *r, uint64_t limit)
{
	return random_next(r) % limit;
}

/* 0 < x <= 1. */
static inline double random_unit(struct random *r)
{
	return (double)((random_next(r) >> 11) + 1) / 9007199254740992.0;
}

/* Mean 0, standard deviation 1. */
static inline double random_normal(struct random *r)
{
	return sqrt(-2 * log(random_unit(r))) * cos(2 * M_PI * random_unit(r));
}

#endif
