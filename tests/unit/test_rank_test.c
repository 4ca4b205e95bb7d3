// SPDX-License-Identifier: GPL-2.0-or-later
/* Against random permutations, and by how often series of the same process are said to differ. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rank_test.h"
#include "random_util.h"

/* The number of pairs (a, b) with a < b, ties half: computed pair by pair. */
static double pairs_below(const double *a, size_t nr_a, const double *b, size_t nr_b)
{
	double u = 0;

	for (size_t i = 0; i < nr_a; i++)
		for (size_t j = 0; j < nr_b; j++)
			u += a[i] < b[j] ? 1 : a[i] > b[j] ? 0 : 0.5;
	return u;
}

/* How many of many random divisions of the values are as far from the middle as the given one. */
static double permuted_p_value(struct random *r, const double *a, size_t nr_a, const double *b,
			       size_t nr_b)
{
	enum { DIVISIONS = 20000, VALUES_MAX = 128 };
	double all[VALUES_MAX], middle = (double)nr_a * (double)nr_b / 2;
	double given = fabs(pairs_below(a, nr_a, b, nr_b) - middle);
	unsigned int as_far = 0;

	assert_true(nr_a + nr_b <= VALUES_MAX);
	memcpy(all, a, nr_a * sizeof(*a));
	memcpy(all + nr_a, b, nr_b * sizeof(*b));
	for (unsigned int n = 0; n < DIVISIONS; n++) {
		for (size_t i = nr_a + nr_b - 1; i; i--) {
			size_t j = random_below(r, i + 1);
			double old = all[i];

			all[i] = all[j];
			all[j] = old;
		}
		as_far += fabs(pairs_below(all, nr_a, all + nr_a, nr_b) - middle) >= given - 1e-9;
	}
	return as_far / (double)DIVISIONS;
}

/*
 * Values whose ranks happen to be correlated have a larger p-value than permutations give, never a smaller one beyond
 * the error of both (of 20,000 permutations: 0.0035 at p = 0.5).
 */
static void test_permutations(void **state)
{
	struct random r = {1};
	unsigned int close = 0;

	(void)state;
	for (unsigned int n = 0; n < 12; n++) {
		double a[24], b[30], want;
		struct rank_test t;

		for (size_t i = 0; i < 24; i++)
			a[i] = n & 1 ? (double)random_below(&r, 5) : random_normal(&r);
		for (size_t i = 0; i < 30; i++)
			b[i] = (n & 1 ? (double)random_below(&r, 5) : random_normal(&r)) +
			       n / 6 * 0.7;
		want = permuted_p_value(&r, a, 24, b, 30);
		assert_int_equal(rank_test(a, 24, b, 30, &t), 0);
		assert_true(t.p_value > want - 0.02 && t.p_value <= 1);
		assert_true((t.u_shift > 0) == (pairs_below(a, 24, b, 30) > 360));
		close += fabs(t.p_value - want) < 0.02;
	}
	assert_true(close >= 4);
}

static void test_equal_values(void **state)
{
	double a[20] = {0}, b[20] = {0};
	struct rank_test t;

	(void)state;
	assert_int_equal(rank_test(a, 20, b, 20, &t), 0);
	assert_true(t.p_value == 1 && t.shift == 0 && t.low == 0 && t.high == 0);
	assert_true(rank_test(a, RANK_TEST_MIN - 1, b, 20, &t) < 0);
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The shift is the median of all differences, and the interval's ends are differences: found as by sorting them. */
static void test_differences(void **state)
{
	enum { NR = 40 };
	struct random r = {5};

	(void)state;
	for (unsigned int n = 0; n < 50; n++) {
		double a[NR], b[NR], d[NR * NR];
		struct rank_test t;

		for (size_t i = 0; i < NR; i++) {
			a[i] = n & 1 ? (double)random_below(&r, 7) : random_normal(&r) * 1e9;
			b[i] = n & 1 ? (double)random_below(&r, 3) : random_normal(&r);
		}
		for (size_t i = 0; i < (size_t)NR * NR; i++)
			d[i] = b[i % NR] - a[i / NR];
		qsort(d, (size_t)NR * NR, sizeof(*d), by_number);
		assert_int_equal(rank_test(a, NR, b, NR, &t), 0);
		assert_true(t.shift == (d[NR * NR / 2] + d[NR * NR / 2 - 1]) / 2);
		assert_non_null(bsearch(&t.low, d, (size_t)NR * NR, sizeof(*d), by_number));
		assert_non_null(bsearch(&t.high, d, (size_t)NR * NR, sizeof(*d), by_number));
		assert_true(t.low <= t.shift && t.shift <= t.high);
	}
}

static void test_holm(void **state)
{
	double p[] = {0.01, 0.04, 0.03, 0.005}, want[] = {0.03, 0.06, 0.06, 0.02},
	       one[] = {0.7, 0.6};

	(void)state;
	assert_int_equal(rank_test_adjust(p, 4), 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(fabs(p[i] - want[i]) < 1e-12);
	assert_int_equal(rank_test_adjust(one, 2), 0);
	assert_true(one[0] == 1 && one[1] == 1);
	assert_int_equal(rank_test_adjust(one, 0), 0);
}

/* ---- false alarms ---- */

/* Each value is `memory` times the last one, plus a new one. */
static void process(struct random *r, double memory, double *ret, size_t nr)
{
	double x = random_normal(r) / sqrt(1 - memory * memory);

	for (size_t i = 0; i < nr; i++)
		ret[i] = x = memory * x + random_normal(r);
}

struct rates {
	double alarms, covered; /* p < 5 %; the interval contains the true shift */
};

static struct rates rates_of(struct random *r, double memory, double shift, size_t nr_a,
			     size_t nr_b)
{
	enum { TRIALS = 3000, VALUES_MAX = 128 };
	double a[VALUES_MAX], b[VALUES_MAX];
	struct rates sum = {0, 0};
	struct rank_test t;

	for (unsigned int n = 0; n < TRIALS; n++) {
		process(r, memory, a, nr_a);
		process(r, memory, b, nr_b);
		for (size_t i = 0; i < nr_b; i++)
			b[i] += shift;
		assert_int_equal(rank_test(a, nr_a, b, nr_b, &t), 0);
		sum.alarms += (t.p_value < 0.05) / (double)TRIALS;
		sum.covered += (t.low <= shift && t.high >= shift) / (double)TRIALS;
	}
	return sum;
}

/* Of 3,000 trials; three standard deviations above 5 % are 6.2 %. */
static void test_false_alarms(void **state)
{
	static const double memory[] = {0, 0.3, 0.6};
	struct random r = {2};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct rates same = rates_of(&r, memory[i], 0, 64, 64),
			     uneven = rates_of(&r, memory[i], 0, 64, 120);

		print_message("memory %.1f: %.3f, %.3f false alarms; %.3f covered\n", memory[i],
			      same.alarms, uneven.alarms, same.covered);
		assert_true(same.alarms < 0.062 && uneven.alarms < 0.062);
		assert_true(same.covered > 0.938);
	}
}

/* It finds what there is to find: a shift of one standard deviation always, and where it is. */
static void test_shift(void **state)
{
	struct random r = {3};
	struct rates found = rates_of(&r, 0, 1, 64, 64);

	(void)state;
	assert_true(found.alarms > 0.99);
	assert_true(found.covered > 0.938);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_permutations), cmocka_unit_test(test_equal_values),
		cmocka_unit_test(test_differences),
		cmocka_unit_test(test_holm),	     cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_shift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
