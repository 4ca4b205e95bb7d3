// SPDX-License-Identifier: GPL-2.0-or-later
/* Against the plain computation on the same values: sorted, and with two passes for the deviation. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/quantiles.h"

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static double plain_stddev(const uint64_t *v, size_t nr)
{
	long double mean = 0, sum = 0;

	for (size_t i = 0; i < nr; i++)
		mean += (long double)v[i] / (long double)nr;
	for (size_t i = 0; i < nr; i++)
		sum += ((long double)v[i] - mean) * ((long double)v[i] - mean);
	return (double)sqrtl(sum / (long double)nr);
}

/* Nearest rank in whole numbers: the ceil(n * thousandths / 1000)-th smallest. */
static uint64_t plain_rank(const uint64_t *sorted, size_t nr, unsigned int thousandths)
{
	size_t rank = (nr * thousandths + 999) / 1000;

	return sorted[rank ? rank - 1 : 0];
}

static void check(uint64_t *v, size_t nr, double tolerance)
{
	static const unsigned int asked[] = {0, 1, 10, 250, 500, 900, 990, 999, 1000};
	struct quantiles q = {0};
	unsigned __int128 sum = 0;
	double stddev = plain_stddev(v, nr);

	for (size_t i = 0; i < nr; i++) {
		assert_int_equal(quantiles_add(&q, v[i]), 0);
		sum += v[i];
	}
	qsort(v, nr, sizeof(*v), by_value);
	assert_int_equal(q.count, nr);
	assert_true(q.sum == sum);
	assert_true(q.min == v[0] && q.max == v[nr - 1]);
	assert_true(quantiles_mean(&q) == (uint64_t)(sum / nr));
	assert_true(fabs(quantiles_stddev(&q) - stddev) <= 1e-9 * stddev + 1e-6);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		uint64_t want = plain_rank(v, nr, asked[i]),
			 got = quantiles_at(&q, asked[i] / 1000.0);

		assert_true(fabs((double)got - (double)want) <= tolerance * (double)want);
	}
	quantiles_free(&q);
}

/* Spread over all magnitudes, as latencies are. */
static uint64_t random_value(unsigned int bits)
{
	uint64_t v = (uint64_t)random() << 33 ^ (uint64_t)random() << 13 ^ (uint64_t)random();

	return v >> (64 - bits) >> ((unsigned int)random() % bits);
}

static void few_are_exact(void **state)
{
	uint64_t v[QUANTILES_EXACT];

	(void)state;
	for (size_t nr = 1; nr <= QUANTILES_EXACT; nr++) {
		for (size_t i = 0; i < nr; i++)
			v[i] = random_value(40);
		check(v, nr, 0);
	}
}

static void many_are_near(void **state)
{
	enum { NR = 20011 };
	uint64_t *v = calloc(NR, sizeof(*v));

	(void)state;
	for (unsigned int bits = 1; bits <= 63; bits += 2) {
		for (size_t i = 0; i < NR; i++)
			v[i] = random_value(bits);
		check(v, NR, 0.004);
	}
	free(v);
}

/* Below 256 each value has its own bucket, so these stay exact however many there are. */
static void small_values_stay_exact(void **state)
{
	enum { NR = 5003 };
	uint64_t v[NR];

	(void)state;
	for (size_t i = 0; i < NR; i++)
		v[i] = (uint64_t)random() % 256;
	check(v, NR, 0);
}

/* A mean far above the spread: sums of squares alone would lose it. */
static void a_small_spread_is_kept(void **state)
{
	struct quantiles q = {0};

	(void)state;
	for (unsigned int i = 0; i < 100000; i++)
		assert_int_equal(quantiles_add(&q, 1000000000000000ull + i % 2 * 10), 0);
	assert_true(fabs(quantiles_stddev(&q) - 5) < 1e-3);
	assert_true(quantiles_mean(&q) == 1000000000000005ull);
	quantiles_free(&q);
}

static void the_whole_range(void **state)
{
	struct quantiles q = {0};

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		assert_int_equal(quantiles_add(&q, 0), 0);
		assert_int_equal(quantiles_add(&q, UINT64_MAX), 0);
	}
	assert_true(q.min == 0 && q.max == UINT64_MAX);
	assert_true(quantiles_at(&q, .5) == 0);
	assert_true((double)quantiles_at(&q, .501) >= (double)UINT64_MAX * 0.996);
	assert_true(fabs(quantiles_stddev(&q) / ((double)UINT64_MAX / 2) - 1) < 1e-9);
	quantiles_free(&q);
}

/* Events have no duration: a buffer of zeros only, and one that begins with them. */
static void zeros_are_counted(void **state)
{
	struct quantiles q = {0};

	(void)state;
	for (unsigned int i = 0; i < 2 * QUANTILES_EXACT; i++)
		assert_int_equal(quantiles_add(&q, 0), 0);
	quantiles_buffer_start(&q);
	assert_non_null(q.buffer);
	for (unsigned int i = 0; i < 10; i++)
		quantiles_buffer_add(q.buffer, 0);
	assert_int_equal(quantiles_flush(&q), 0);
	assert_int_equal(q.count, 2 * QUANTILES_EXACT + 10);
	quantiles_buffer_add(q.buffer, 0);
	quantiles_buffer_add(q.buffer, 5);
	assert_int_equal(quantiles_flush(&q), 0);
	assert_int_equal(q.count, 2 * QUANTILES_EXACT + 12);
	assert_true(q.min == 0 && q.max == 5 && q.sum == 5);
	quantiles_free(&q);
}

static void nothing(void **state)
{
	struct quantiles q = {0};

	(void)state;
	assert_true(quantiles_at(&q, .5) == 0 && quantiles_mean(&q) == 0 &&
		    quantiles_stddev(&q) == 0);
	quantiles_free(&q);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_are_exact),	   cmocka_unit_test(many_are_near),
		cmocka_unit_test(small_values_stay_exact), cmocka_unit_test(a_small_spread_is_kept),
		cmocka_unit_test(the_whole_range),	   cmocka_unit_test(nothing),
		cmocka_unit_test(zeros_are_counted),
	};

	srandom(23);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
