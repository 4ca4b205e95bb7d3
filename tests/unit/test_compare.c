// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recordings that are made so that the truth is known: random divisions of one population, which do not differ; a shift
 * of known size; one burst, which is no difference. Measurements of a burst have a common factor, as they have in a
 * real recording.
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

static const uint64_t SPAN_NS = 10000000000, START_NS = 123456789;

enum { KEYS = 6, BURSTS = 4000 };

static bool key_print(void *arg, const uint64_t *label, char *buf, size_t size)
{
	(void)arg;
	snprintf(buf, size, "key %u", (unsigned int)*label);
	return true;
}

static void add(struct series_set *s, uint64_t key, double at, double ns)
{
	assert_int_equal(
		series_add(s, &key, START_NS + (uint64_t)(at * (double)SPAN_NS), (uint64_t)ns, 1),
		0);
}

struct pair {
	struct series_set *side[2];
	struct comparison c;
};

static void pair_open(struct pair *p, double margin)
{
	const struct compared_runs one = {1, {SPAN_NS}};

	*p = (struct pair){.c = {.level = 0.05, .margin = margin}};
	for (unsigned int i = 0; i < 2; i++)
		assert_non_null(p->side[i] = series_new(START_NS, 1));
	comparison_begin(&p->c, &one, &one, comparison_shift(&one, 1));
}

static void pair_compare(struct pair *p)
{
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(series_name(p->side[i], key_print, NULL), 0);
	assert_int_equal(comparison_add(&p->c, "key", &p->side[0], &p->side[1], true, true), 0);
	assert_int_equal(comparison_end(&p->c), 0);
}

static void pair_close(struct pair *p)
{
	comparison_free(&p->c);
	series_free(p->side[0]);
	series_free(p->side[1]);
}

static const struct figure *figure_of(const struct pair *p, const char *key, enum figure_of of)
{
	for (size_t i = 0; i < p->c.nr; i++)
		if (!strcmp(p->c.figure[i].key, key) && p->c.figure[i].of == of)
			return &p->c.figure[i];
	fail_msg("no figure %s", key);
	return NULL;
}

/* A burst of measurements of one key; their times are spread over 1 ms, their durations share a factor. */
static void burst(struct random *r, struct series_set *s, uint64_t key, double factor)
{
	double at = random_unit(r) * 0.999, common = exp(random_normal(r));

	for (uint64_t n = 1 + random_below(r, 20); n; n--)
		add(s, key, at + random_unit(r) * 1e-4,
		    1000 * factor * common * exp(random_normal(r) / 2));
}

/*
 * At a level of 5 % for all figures together, so many of 200 divisions may show a difference: 10, and three standard
 * deviations more are 19.
 */
static void test_divisions(void **state)
{
	enum { DIVISIONS = 200, ALARMS_MAX = 19 };
	struct random r = {11};
	unsigned int alarms = 0;

	(void)state;
	for (unsigned int n = 0; n < DIVISIONS; n++) {
		struct pair p;

		pair_open(&p, 0);
		for (unsigned int i = 0; i < BURSTS; i++) /* key 0 has half of them, key 1 a quarter, ... */
			burst(&r, p.side[random_below(&r, 2)],
			      (uint64_t)__builtin_ctzll(random_next(&r) | 1 << (KEYS - 1)), 1);
		pair_compare(&p);
		assert_true(p.c.nr_tested >= 2 * KEYS - 2);
		alarms += p.c.nr_changed > 0;
		pair_close(&p);
	}
	print_message("%u false alarms in %d divisions\n", alarms, DIVISIONS);
	assert_true(alarms <= ALARMS_MAX);
}

/* Key 2 is slower by 30 %, and key 3 comes half as often again; the others are as they were. */
static void test_shift(void **state)
{
	struct random r = {12};
	struct pair p;

	(void)state;
	pair_open(&p, 0.05);
	for (unsigned int i = 0; i < 24000; i++) {
		uint64_t side = random_below(&r, 2), key = random_below(&r, 4);

		burst(&r, p.side[side], key, side && key == 2 ? 1.3 : 1);
		if (side && key == 3 && random_below(&r, 2))
			burst(&r, p.side[side], key, 1);
	}
	pair_compare(&p);
	const struct figure *slow = figure_of(&p, "key 2", FIGURE_LATENCY),
			    *often = figure_of(&p, "key 3", FIGURE_RATE);

	assert_true(slow->changed && slow->low < 0.3 && slow->high > 0.3 && slow->low > 0.1);
	assert_true(fabs(slow->change - 0.3) < 0.15);
	assert_true(often->changed && often->low < 0.5 && often->high > 0.5 &&
		    fabs(often->change - 0.5) < 0.1);
	assert_int_equal(p.c.nr_changed, 2);
	assert_true(p.c.figure[0].changed && p.c.figure[1].changed && !p.c.figure[2].changed);
	assert_true(p.c.figure[0].change > p.c.figure[1].change);
	pair_close(&p);
}

/* A latency that doubles, 20 us a thousand times in 10 s: 0.2 % of the time, or 0.4 %. */
static void test_min_share(void **state)
{
	static const double min_share[] = {0.001, 0.003};

	(void)state;
	for (unsigned int n = 0; n < 2; n++) {
		struct pair p;

		pair_open(&p, 0.05);
		p.c.min_share = min_share[n];
		for (unsigned int i = 0; i < 1000; i++)
			for (unsigned int side = 0; side < 2; side++)
				add(p.side[side], 1, i / 1000., 20000 * (1 + side) + i % 7);
		pair_compare(&p);
		assert_true(figure_of(&p, "key 1", FIGURE_LATENCY)->changed == !n);
		assert_true(figure_of(&p, "key 1", FIGURE_LATENCY)->small == n);
		assert_true(p.c.nr_changed == !n && p.c.nr_small == n);
		pair_close(&p);
	}
}

/* A change of 3 % is not one of more than 5 %; without a margin it is found. */
static void test_margin(void **state)
{
	static const double margin[] = {0, 0.05};

	(void)state;
	for (unsigned int n = 0; n < 2; n++) {
		struct random r = {13};
		struct pair p;

		pair_open(&p, margin[n]);
		for (unsigned int i = 0; i < 200000; i++) {
			uint64_t side = random_below(&r, 2);

			add(p.side[side], 0, random_unit(&r),
			    1000 * (side ? 1.03 : 1) * exp(random_normal(&r) / 10));
		}
		pair_compare(&p);
		assert_int_equal(figure_of(&p, "key 0", FIGURE_LATENCY)->changed, n == 0);
		pair_close(&p);
	}
}

/* 10,000 measurements in one millisecond, 100 times as long as the others: the mean is, but no other moment differs. */
static void test_one_burst(void **state)
{
	struct random r = {14};
	struct pair p;

	(void)state;
	pair_open(&p, 0.05);
	for (unsigned int i = 0; i < 20000; i++)
		add(p.side[random_below(&r, 2)], 0, random_unit(&r),
		    1000 * exp(random_normal(&r) / 2));
	for (unsigned int i = 0; i < 10000; i++)
		add(p.side[1], 0, 0.5 + random_unit(&r) * 1e-4, 100000);
	pair_compare(&p);
	assert_true(figure_of(&p, "key 0", FIGURE_LATENCY)->change > 10);
	assert_int_equal(p.c.nr_changed, 0);
	pair_close(&p);
}

/* A key that only B has is a changed rate; its latency has nothing to be compared with. */
static void test_new_key(void **state)
{
	struct random r = {15};
	struct pair p;

	(void)state;
	pair_open(&p, 0.05);
	for (unsigned int i = 0; i < 5000; i++)
		add(p.side[1], 7, random_unit(&r), 1000);
	pair_compare(&p);
	assert_int_equal(p.c.nr, 1);
	assert_true(p.c.figure[0].changed && isinf(p.c.figure[0].change) &&
		    p.c.figure[0].of == FIGURE_RATE);
	pair_close(&p);
}

/* Blocks are as long in both, whatever the lengths; what is too short is not tested. */
static void test_lengths(void **state)
{
	static const struct {
		uint64_t a, b, block;
	} rows[] = {
		{10000000000, 10000000000, 1 << 27}, {10000000000, 100000000000, 1 << 28},
		{1000000, 1000000, 1 << 16},	     {1000000000, 3600000000000, 1ull << 33},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct compared_runs side[] = {{1, {rows[i].a}}, {1, {rows[i].b}}};
		struct comparison c = {0};

		comparison_begin(&c, &side[0], &side[1], comparison_shift(side, 2));
		assert_int_equal(c.block_ns, rows[i].block);
		assert_true(c.blocks[0][0] <= SERIES_BLOCKS && c.blocks[1][0] <= SERIES_BLOCKS);
	}
}

/* The order of measurements, and their division among sets that are merged, have no influence. */
static void test_merge(void **state)
{
	struct series_set *all = series_new(START_NS, 1), *part[3], *sum = series_new(START_NS, 1);
	struct random r = {16};

	(void)state;
	for (unsigned int i = 0; i < 3; i++)
		part[i] = series_new(START_NS, 1);
	for (unsigned int i = 0; i < 30000; i++) {
		uint64_t key = random_below(&r, 3);
		double at = random_unit(&r) * (i < 20000 ? 0.01 : 1),
		       ns = (double)random_below(&r, 100000);

		add(all, key, at, ns);
		add(part[i / 10000], key, at, ns);
	}
	for (unsigned int i = 0; i < 3; i++) {
		assert_int_equal(series_merge(sum, part[i]), 0);
		series_free(part[i]);
	}
	assert_int_equal(sum->nr, all->nr);
	assert_int_equal(sum->shift, all->shift);
	for (unsigned int i = 0; i < all->nr; i++)
		for (unsigned int k = 0; k < sum->nr; k++) {
			if (sum->list[k]->label[0] != all->list[i]->label[0])
				continue;
			assert_memory_equal(sum->list[k]->block, all->list[i]->block,
					    sizeof(all->list[i]->block));
			assert_true(sum->list[k]->ns.sum == all->list[i]->ns.sum);
			assert_int_equal(quantiles_at(&sum->list[k]->ns, .9),
					 quantiles_at(&all->list[i]->ns, .9));
		}
	series_free(all);
	series_free(sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_divisions), cmocka_unit_test(test_shift),
		cmocka_unit_test(test_min_share),
		cmocka_unit_test(test_margin),	  cmocka_unit_test(test_one_burst),
		cmocka_unit_test(test_new_key),	  cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_merge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
