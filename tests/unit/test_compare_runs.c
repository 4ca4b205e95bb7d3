// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs that are made so that the truth is known: each run has a factor of its own, as runs of one workload have, and
 * its measurements vary much less. What the blocks of two runs show to differ is then no difference of two states.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzers/compare/compare.h"
#include "random_util.h"

static const uint64_t SPAN_NS = 10000000000;

enum { COMPARISONS = 200, MEASUREMENTS = 2000 };

static bool key_print(void *arg, const uint64_t *label, char *buf, size_t size)
{
	(void)arg;
	snprintf(buf, size, "key %u", (unsigned int)*label);
	return true;
}

static struct series_set *run_make(struct random *r, double factor)
{
	struct series_set *s = series_new(0, 1);
	double own = factor * exp(random_normal(r) / 10);
	uint64_t key = 0;

	assert_non_null(s);
	for (unsigned int i = 0; i < MEASUREMENTS; i++)
		assert_int_equal(
			series_add(s, &key, (uint64_t)(random_unit(r) * (double)SPAN_NS),
				   (uint64_t)(50000 * own * exp(random_normal(r) / 20)), 1),
			0);
	assert_int_equal(series_name(s, key_print, NULL), 0);
	return s;
}

/* Compares nr[0] runs with nr[1] whose latencies are `factor` times as long. *ret: the latency's figure. */
static void runs_compare(struct random *r, const unsigned int *nr, double factor,
			 struct figure *ret)
{
	struct comparison c = {.level = 0.05};
	struct compared_runs runs[2] = {{.nr = nr[0]}, {.nr = nr[1]}};
	struct series_set *set[2][COMPARE_RUNS_MAX];

	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int k = 0; k < nr[i]; k++) {
			runs[i].span_ns[k] = SPAN_NS;
			set[i][k] = run_make(r, i ? factor : 1);
		}
	comparison_begin(&c, &runs[0], &runs[1], comparison_shift(runs, 2));
	assert_int_equal(comparison_add(&c, "key", set[0], set[1], false, true), 0);
	assert_int_equal(comparison_end(&c), 0);
	assert_int_equal(c.nr, 1);
	*ret = c.figure[0];
	comparison_free(&c);
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int k = 0; k < nr[i]; k++)
			series_free(set[i][k]);
}

/* How many of the comparisons show a change, and how many intervals contain the true one. */
static unsigned int nr_changed(const unsigned int *nr, double factor, unsigned int *ret_inside)
{
	struct random r = {21};
	unsigned int changed = 0;

	*ret_inside = 0;
	for (unsigned int i = 0; i < COMPARISONS; i++) {
		struct figure f;

		runs_compare(&r, nr, factor, &f);
		assert_true(f.tested);
		changed += f.changed;
		*ret_inside += f.low <= factor - 1 && factor - 1 <= f.high;
	}
	print_message("%u and %u runs, factor %g: %u of %d changed, %u intervals are right\n",
		      nr[0], nr[1], factor, changed, COMPARISONS, *ret_inside);
	return changed;
}

/* At a level of 5 %, 10 of 200 may show a change that there is not, and three standard deviations more are 19. */
static void test_no_change(void **state)
{
	static const unsigned int nr[][2] = {{3, 3}, {5, 5}, {5, 1}, {1, 5}, {2, 8}};

	(void)state;
	for (size_t i = 0; i < sizeof(nr) / sizeof(*nr); i++) {
		unsigned int inside;

		assert_true(nr_changed(nr[i], 1, &inside) <= 19);
		assert_true(inside >= COMPARISONS - 19);
	}
}

/* Twice as long is found in nearly all, and 30 % with five runs each: the runs vary by 10 %. */
static void test_change(void **state)
{
	static const struct {
		unsigned int nr[2], found;
		double factor;
	} rows[] = {{{3, 3}, 180, 2}, {{5, 5}, 180, 1.3}, {{6, 1}, 180, 2}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned int inside;

		assert_true(nr_changed(rows[i].nr, rows[i].factor, &inside) >= rows[i].found);
	}
}

/* What no run of A has is a rate that changed; what one run lacks counts as 0 there. */
static void test_missing(void **state)
{
	const struct compared_runs runs = {2, {SPAN_NS, SPAN_NS}};
	struct series_set *a[2], *b[2];
	struct comparison c = {.level = 0.05};
	struct random r = {22};

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		a[i] = series_new(0, 1);
		assert_non_null(a[i]);
		b[i] = run_make(&r, 1);
	}
	comparison_begin(&c, &runs, &runs, comparison_shift(&runs, 1));
	assert_int_equal(comparison_add(&c, "key", a, b, true, true), 0);
	assert_int_equal(comparison_end(&c), 0);
	assert_int_equal(c.nr, 1);
	assert_true(c.figure[0].of == FIGURE_RATE && isinf(c.figure[0].change) &&
		    c.figure[0].changed);
	assert_true(c.figure[0].run[0][0] == 0 && c.figure[0].run[1][1] == MEASUREMENTS / 10.);
	comparison_free(&c);
	for (unsigned int i = 0; i < 2; i++) {
		series_free(a[i]);
		series_free(b[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_change),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
