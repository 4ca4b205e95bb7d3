// SPDX-License-Identifier: GPL-2.0-or-later
/* The fitted clock against generated pairs of known offset. `make check-clock` runs a thousand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Before cmocka.h, which has a macro of the name fail. */
#include "base/error.h"

#include <cmocka.h>

#include "../bench/clockgen.h"

enum { PAIRS = 40, SHARP_NS = 1000 };

static struct gen_pair pair;

static void truth_is_within_the_bound(void **state)
{
	unsigned int sharp = 0, refused = 0, jumps = 0, drifts = 0;
	double worst_share = 0;

	(void)state;
	for (uint64_t seed = 5001, done = 0; done < PAIRS; seed++) {
		struct gen_score s;

		gen_make(&pair, seed);
		if (pair.busy) { /* seconds each: left to the bench */
			gen_free(&pair);
			continue;
		}
		done++;
		s = gen_judge(&pair);
		if (!s.err && s.outside)
			fail_msg("seed %d: %d events further off than the printed +-%.0f ns",
				 (int)seed, (int)s.outside, s.bound_ns);
		if (!s.err) {
			assert_true(s.proven);
			assert_int_equal(s.violations, 0);
			assert_true(s.events > 0);
			worst_share = fmax(worst_share, s.worst_ns / s.bound_ns);
		}
		refused += s.err != 0;
		sharp += !s.err && s.bound_ns <= SHARP_NS;
		jumps += !s.err && isfinite(pair.vcpu[0].jump_at);
		drifts += !s.err && pair.drift != 0;
		gen_free(&pair);
	}
	print_message("%d pairs: %u fitted to 1 us or better, %u refused; worst error %.0f %% of "
		      "its bound\n",
		      PAIRS, sharp, refused, 100 * worst_share);
	assert_true(refused <= PAIRS / 50);
	assert_true(sharp >= PAIRS / 2);
	assert_true(jumps >= 5 && drifts >= 10);
	assert_true(worst_share > 0.5); /* the bound is not made of air */
}

/* A machine drawn by a seed, made into what a test wants to see. */
static void simple_pair(uint64_t seed, double drift)
{
	memset(&pair, 0, sizeof(pair));
	pair.seed = seed;
	pair.state = seed;
	pair.nr_vcpus = 2;
	pair.ghz = 2.9;
	pair.length = 0.5e9 * pair.ghz;
	pair.host0 = 1ull << 40;
	pair.offset = -(1ll << 39);
	pair.drift = drift;
	pair.slack_in = pair.slack_out = 290;
	pair.guest_to = 1;
	for (unsigned int v = 0; v < GEN_VCPUS_MAX; v++)
		pair.vcpu[v].jump_at = INFINITY;
}

static void simple_run(void)
{
	for (unsigned int v = 0; v < pair.nr_vcpus; v++)
		gen_vcpu_run(&pair, &pair.vcpu[v]);
}

static void drift_is_measured(void **state)
{
	struct clock_input in[GEN_VCPUS_MAX] = {0};
	struct clock_relation rel;
	struct clock_options opt;

	(void)state;
	simple_pair(7, 120e-6);
	simple_run();
	opt = gen_input(&pair, in);
	assert_int_equal(clock_align(in, pair.nr_vcpus, &opt, &rel), 0);
	assert_true(fabs(rel.vcpu[0].drift_ppb - 120e3) < 5);
	assert_true(rel.vcpu[0].error_ticks < 600);
	clock_relation_deinit(&rel);
	opt.drift_max_ppb = 0; /* assumes an exact scale: nothing fits, which is reported */
	if (!clock_align(in, pair.nr_vcpus, &opt, &rel)) {
		assert_true(rel.note[0] != '\0');
		clock_relation_deinit(&rel);
	}
	gen_free(&pair);
}

static void one_sided_limits_tighten(void **state)
{
	struct clock_input in[GEN_VCPUS_MAX] = {0};
	struct clock_limit limit[2];
	struct clock_relation loose, tight;
	struct clock_options opt;

	(void)state;
	simple_pair(8, 0);
	simple_run();
	opt = gen_input(&pair, in);
	assert_int_equal(clock_align(in, pair.nr_vcpus, &opt, &loose), 0);
	for (unsigned int i = 0; i < 2;
	     i++) /* a kick seen 50 ticks later, an interrupt taken 50 ticks after */
		limit[i] = (struct clock_limit){
			.guest_tsc = pair.vcpu[0].stamp[100 + i],
			.host_tsc = pair.host0 + (uint64_t)llrint(pair.vcpu[0].truth[100 + i]) +
				    (i ? -50 : 50),
			.guest_first = !i};
	in[0].limit = limit;
	in[0].nr_limits = 2;
	assert_int_equal(clock_align(in, pair.nr_vcpus, &opt, &tight), 0);
	assert_true(loose.vcpu[0].error_ticks > 200);
	assert_true(tight.vcpu[0].error_ticks < 60);
	assert_in_range(tight.vcpu[0].segment[0].offset + (1ll << 39) + 100, 40, 160);
	clock_relation_deinit(&loose);
	clock_relation_deinit(&tight);
	gen_free(&pair);
}

/* The offset jumps so late that too few events follow to fit a line to them: the line of the others is kept. */
static void a_late_jump_leaves_the_rest(void **state)
{
	struct clock_input in[GEN_VCPUS_MAX] = {0};
	struct clock_relation rel;
	struct clock_options opt;

	(void)state;
	simple_pair(9, 0);
	simple_run();
	for (size_t i = pair.vcpu[0].nr - 9; i < pair.vcpu[0].nr; i++)
		pair.vcpu[0].stamp[i] -= 725000000;
	opt = gen_input(&pair, in);
	assert_int_equal(clock_align(in, pair.nr_vcpus, &opt, &rel), 0);
	assert_string_equal(rel.note, "");
	assert_int_equal(rel.vcpu[0].nr_segments, 1);
	assert_true(rel.vcpu[0].error_ticks < 600);
	assert_true(llabs(rel.vcpu[0].segment[0].offset + (1ll << 39)) <= rel.vcpu[0].error_ticks);
	assert_true(rel.vcpu[0].proof.violations > 0); /* of the 9 */
	clock_relation_deinit(&rel);
	gen_free(&pair);
}

static void few_events_are_refused(void **state)
{
	struct clock_input in[GEN_VCPUS_MAX] = {0};
	struct clock_relation rel;
	struct clock_options opt;

	(void)state;
	simple_pair(9, 0);
	simple_run();
	opt = gen_input(&pair, in);
	in[0].nr_stamps = 10;
	in[1].nr_stamps = 0;
	assert_int_equal(clock_align(in, pair.nr_vcpus, &opt, &rel), -ENODATA);
	in[0].nr_stamps = 0;
	assert_int_equal(clock_align(in, pair.nr_vcpus, &opt, &rel), -ENODATA);
	in[0].nr_stamps = 500;
	in[0].nr_spans = in[1].nr_spans = 0;
	assert_int_equal(clock_align(in, pair.nr_vcpus, &opt, &rel), -ENODATA);
	gen_free(&pair);
}

/* Stamps that have nothing to do with the host: no answer, or one that confesses. */
static void nonsense_is_not_believed(void **state)
{
	struct clock_input in[GEN_VCPUS_MAX] = {0};
	struct clock_relation rel;
	struct clock_options opt;
	double at = 0;

	(void)state;
	simple_pair(10, 0);
	pair.nr_vcpus = 1;
	pair.length /= 10;
	simple_run();
	opt = gen_input(&pair, in);
	for (unsigned int v = 0; v < pair.nr_vcpus; v++)
		for (size_t i = 0; i < pair.vcpu[v].nr; i++)
			pair.vcpu[v].stamp[i] = (uint64_t)(at += gen_exp(&pair, 60e3));
	if (!clock_align(in, pair.nr_vcpus, &opt, &rel)) {
		assert_true(rel.note[0] != '\0');
		clock_relation_deinit(&rel);
	}
	gen_free(&pair);
}

/* A few events outside guest mode (a wrong vCPU, a broken record): gives the best line, and reports the events. */
static void a_few_violations_are_confessed(void **state)
{
	struct clock_input in[GEN_VCPUS_MAX] = {0};
	struct clock_relation rel;
	struct clock_options opt;
	struct clock_proof sum;

	(void)state;
	simple_pair(11, 0);
	pair.nr_vcpus = 1;
	simple_run();
	opt = gen_input(&pair, in);
	for (size_t i = 0; i < 5; i++) { /* in the middle of the longest gaps around */
		const struct clock_spans *s = &pair.vcpu[0].spans;
		size_t gap = 100 + 150 * i, best = gap;

		for (size_t k = gap; k < gap + 100; k++)
			if (s->span[k + 1].enter - s->span[k].leave >
			    s->span[best + 1].enter - s->span[best].leave)
				best = k;
		pair.vcpu[0].stamp[200 + 50 * i] =
			(s->span[best].leave + s->span[best + 1].enter) / 2 + (uint64_t)pair.offset;
	}
	assert_int_equal(clock_align(in, 1, &opt, &rel), 0);
	sum = clock_check(&rel, in, 1, NULL);
	assert_in_range(sum.violations, 1, 5);
	assert_true(rel.note[0] != '\0');
	assert_true(llabs(rel.vcpu[0].segment[0].offset - pair.offset) <=
		    (int64_t)rel.vcpu[0].error_ticks + 1);
	clock_relation_deinit(&rel);
	gen_free(&pair);
}

/* With little work left, whatever is tried ends with the reason. */
static void work_is_limited(void **state)
{
	struct clock_input in[GEN_VCPUS_MAX] = {0};
	struct clock_relation rel;
	struct clock_options opt;

	(void)state;
	simple_pair(9, 0);
	simple_run();
	opt = gen_input(&pair, in);
	for (uint64_t most = 100, work; most <= CLOCK_WORK_MAX; most *= 10) {
		work = most;
		opt.work = &work;
		if (!clock_align(in, pair.nr_vcpus, &opt, &rel)) {
			assert_true(most > 100 && work > 0);
			clock_relation_deinit(&rel);
			continue;
		}
		assert_true(most < CLOCK_WORK_MAX);
		assert_non_null(strstr(error_text(), "--clock OFFSET"));
	}
	gen_free(&pair);
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Times of every magnitude up to 2^64, in order. */
static void times_make(uint64_t *time, size_t nr, uint64_t seed)
{
	for (size_t i = 0; i < nr; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		time[i] = seed >> (seed >> 3) % 64;
	}
	qsort(time, nr, sizeof(*time), by_time);
}

/* Few events cost little work, whatever their times are. */
static void few_events_cost_little(void **state)
{
	enum { SPANS = 30, STAMPS = 100, MOST = 100000000 }; /* a second */
	uint64_t host[2 * SPANS], stamp[STAMPS], worst = 0;
	struct clock_span span[SPANS];

	(void)state;
	for (uint64_t seed = 27; seed <= 36; seed++) { /* of 1 to 40, 33 costs most */
		struct clock_input in = {
			.span = span, .nr_spans = SPANS, .stamp = stamp, .nr_stamps = STAMPS};
		uint64_t work = CLOCK_WORK_MAX;
		struct clock_options opt = {.drift_max_ppb = 500e3, .work = &work};
		struct clock_relation rel;

		times_make(host, 2 * SPANS, seed);
		times_make(stamp, STAMPS, seed + 1000);
		for (size_t i = 0; i < SPANS; i++)
			span[i] =
				(struct clock_span){.enter = host[2 * i], .leave = host[2 * i + 1]};
		if (!clock_align(&in, 1, &opt, &rel))
			clock_relation_deinit(&rel);
		worst = CLOCK_WORK_MAX - work > worst ? CLOCK_WORK_MAX - work : worst;
	}
	print_message("%u events: at most %llu steps\n", SPANS + STAMPS, (unsigned long long)worst);
	assert_in_range(worst, MOST / 10, MOST); /* the times are hostile */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(truth_is_within_the_bound),
		cmocka_unit_test(drift_is_measured),
		cmocka_unit_test(one_sided_limits_tighten),
		cmocka_unit_test(a_late_jump_leaves_the_rest),
		cmocka_unit_test(few_events_are_refused),
		cmocka_unit_test(nonsense_is_not_believed),
		cmocka_unit_test(a_few_violations_are_confessed),
		cmocka_unit_test(work_is_limited),
		cmocka_unit_test(few_events_cost_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
