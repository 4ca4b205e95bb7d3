// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "clock/clock.h"

/* ---- host TSC <-> CLOCK_MONOTONIC ---- */

enum { PAIRS = 200 };

/* A 2.6 GHz TSC against a clock that NTP slews by up to 20 ppm, like a sine over 60 s. */
static double slewed_ns(double s)
{
	return 1e9 * s + 20e-6 * 1e9 * (60 / (2 * M_PI)) * (1 - cos(2 * M_PI * s / 60));
}

static void pairs_make(struct clock_pair *p, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		p[i] = (struct clock_pair){.tsc = 1000000000000 + (uint64_t)(0.5 * i * 2.6e9),
					   .ns = 5000000000 + (uint64_t)slewed_ns(0.5 * i),
					   .bracket = 104};
}

static void mono_follows_a_slewed_clock(void **state)
{
	struct clock_pair p[PAIRS];
	struct clock_mono m;
	double worst = 0, error;

	(void)state;
	pairs_make(p, PAIRS);
	assert_int_equal(clock_mono_init(&m, p, PAIRS), 0);
	for (double s = 0; s < 0.5 * (PAIRS - 1); s += 0.0137) {
		uint64_t tsc = 1000000000000 + (uint64_t)(s * 2.6e9);
		double off = fabs((double)clock_mono_ns(&m, tsc, &error) - (5e9 + slewed_ns(s)));

		assert_true(off <= error + 1);
		worst = fmax(worst, off);
	}
	assert_true(worst < 100);
	assert_true(clock_mono_error_ns(&m) < 300);
	assert_true(fabs(clock_mono_ticks_per_ns(&m) - 2.6) < 1e-3);
	clock_mono_deinit(&m);
}

static void mono_goes_back_and_forth(void **state)
{
	struct clock_pair p[PAIRS];
	struct clock_mono m;

	(void)state;
	pairs_make(p, PAIRS);
	assert_int_equal(clock_mono_init(&m, p, PAIRS), 0);
	for (uint64_t tsc = 990000000000; tsc < 1300000000000; tsc += 777777777) {
		uint64_t back = clock_mono_tsc(&m, clock_mono_ns(&m, tsc, NULL));

		assert_in_range(back, tsc - 3, tsc + 3);
	}
	assert_int_equal(clock_mono_ns(&m, p[7].tsc, NULL), p[7].ns);
	clock_mono_deinit(&m);
}

static void mono_error_grows_outside(void **state)
{
	struct clock_pair p[PAIRS];
	struct clock_mono m;
	double in, near_end, far;

	(void)state;
	pairs_make(p, PAIRS);
	assert_int_equal(clock_mono_init(&m, p, PAIRS), 0);
	clock_mono_ns(&m, p[PAIRS - 1].tsc - 1000, &in);
	clock_mono_ns(&m, p[PAIRS - 1].tsc + 2600000000, &near_end);
	clock_mono_ns(&m, p[PAIRS - 1].tsc + 26000000000, &far);
	assert_true(near_end > in + 500 && far > near_end + 5000);
	clock_mono_ns(&m, p[0].tsc - 26000000000, &far);
	assert_true(far > in + 5000);
	clock_mono_deinit(&m);
}

static void mono_leaves_bad_pairs_out(void **state)
{
	struct clock_pair p[PAIRS];
	struct clock_mono m;

	(void)state;
	pairs_make(p, PAIRS);
	p[50].bracket = 5000000; /* preempted between the reads, */
	p[50].ns += 900000;
	p[60].ns = 1; /* a clock that stepped, */
	memmove(&p[70], &p[90], sizeof(*p)); /* and one twice, out of order */
	assert_int_equal(clock_mono_init(&m, p, PAIRS), 0);
	assert_true(clock_mono_error_ns(&m) < 1000);
	assert_int_equal(m.nr, PAIRS - 3);
	clock_mono_deinit(&m);
	assert_int_equal(clock_mono_init(&m, p, 1), -ENODATA);
	assert_int_equal(clock_mono_init(&m, NULL, 0), -ENODATA);
}

/* ---- guest TSC <-> host TSC ---- */

static void segments_as_kvm_computes(void **state)
{
	static const struct clock_segment s[] = {
		{.offset = -19692495448},
		{.offset = 12345, .scale = 1ull << 48, .scale_bits = 48},
		{.offset = -5, .scale = (1ull << 48) / 3 * 2, .scale_bits = 48},
		{.offset = INT64_MIN / 4, .scale = 3ull << 31, .scale_bits = 32}, /* 1.5 */
		{.offset = 1, .scale = 1ull << 30, .scale_bits = 32},		  /* 0.25 */
	};

	(void)state;
	for (unsigned int i = 0; i < sizeof(s) / sizeof(s[0]); i++)
		for (uint64_t host = 20000000000; host < 1ull << 50; host = host * 7 + 3) {
			uint64_t guest = clock_segment_guest(&s[i], host),
				 back = clock_segment_host(&s[i], guest);

			assert_true(back <= host && host - back <= 4); /* 0.25: four host ticks are one guest tick */
			assert_int_equal(clock_segment_guest(&s[i], back), guest);
		}
	assert_int_equal(clock_segment_guest(&s[3], 1000), 1500 + (uint64_t)s[3].offset);
	assert_int_equal(clock_segment_host(&s[0], 14344479554), 34036975002);
	assert_int_equal(clock_segment_host(&s[1], 0), 0); /* before the host's TSC began */
	assert_int_equal(clock_segment_host(&(struct clock_segment){.scale = 1, .scale_bits = 48},
					    1ull << 40),
			 UINT64_MAX);
}

static void cursor_follows_the_order(void **state)
{
	struct clock_segment forward[] = {{.offset = 100}, {.from = 5000, .offset = 3000}};
	struct clock_segment backward[] = {{.offset = 100},
					   {.from = 50000000, .offset = -20000000}};
	struct clock_vcpu v = {.segment = forward, .nr_segments = 2};
	struct clock_cursor c = {0};

	(void)state;
	assert_int_equal(clock_vcpu_host(&v, &c, 1100), 1000);
	assert_int_equal(clock_vcpu_host(&v, &c, 5099), 4999);
	assert_int_equal(clock_vcpu_host(&v, &c, 5500), 5400); /* occurs in neither: the nearer */
	assert_int_equal(clock_vcpu_host(&v, &c, 7900), 4900);
	assert_int_equal(clock_vcpu_host(&v, &c, 8000), 5000);
	assert_int_equal(clock_vcpu_host(&v, &c, 9000), 6000);
	v.segment = backward; /* timestamps from 30,000,000 to 50,000,100 occur twice: the order decides */
	c = (struct clock_cursor){0};
	assert_int_equal(clock_vcpu_host(&v, &c, 31000100), 31000000);
	assert_int_equal(clock_vcpu_host(&v, &c, 49000100), 49000000);
	assert_int_equal(clock_vcpu_host(&v, &c, 48999100), 48999000); /* slight disorder is not a jump */
	assert_int_equal(clock_vcpu_host(&v, &c, 31000000), 51000000);
	assert_int_equal(clock_vcpu_host(&v, &c, 49000100), 69000100);
}

static void reports_become_segments(void **state)
{
	static const struct clock_report r[] = {
		{.host_tsc = 1000, .change = true, .before = 0, .offset = -900},
		{.host_tsc = 1100, .change = true, .before = -900, .offset = -900}, /* KVM writes it three times */
		{.host_tsc = 2000, .offset = -900, .scale = 1ull << 47, .scale_bits = 48},
		{.host_tsc = 3000, .change = true, .before = -900, .offset = 77},
	};
	struct clock_vcpu v = {0};

	(void)state;
	assert_int_equal(clock_vcpu_read(&v, r, 4, true), 0);
	assert_int_equal(v.nr_segments, 4);
	assert_int_equal(v.segment[0].from, 0);
	assert_int_equal(v.segment[1].from, 1000);
	assert_int_equal(v.segment[2].scale, 1ull << 47);
	assert_int_equal(v.segment[3].from, 3000);
	assert_int_equal(v.segment[3].scale_bits, 48); /* a change of the offset leaves the scale */
	free(v.segment);
	v = (struct clock_vcpu){0};
	assert_int_equal(clock_vcpu_read(&v, r, 4, false), 0);
	assert_int_equal(v.nr_segments, 1);
	assert_int_equal(v.segment[0].offset, 0);
	free(v.segment);
}

/* ---- spans ---- */

static void spans_forbid_only_what_is_certain(void **state)
{
	struct clock_spans s = {0};

	(void)state;
	clock_spans_leave(&s, 50); /* began before the recording */
	clock_spans_enter(&s, 100);
	clock_spans_leave(&s, 200);
	clock_spans_enter(&s, 300);
	clock_spans_enter(&s, 400); /* an exit is missing */
	clock_spans_leave(&s, 500);
	clock_spans_leave(&s, 600); /* an entry is missing */
	clock_spans_enter(&s, 700);
	clock_spans_leave(&s, 800);
	clock_spans_enter(&s, 900); /* still in guest mode at the end: not known until when */
	assert_int_equal(s.nr, 3);
	assert_true(s.span[0].enter == 100 && s.span[0].leave == 200);
	assert_true(s.span[1].enter == 300 && s.span[1].leave == 600);
	assert_true(s.span[2].enter == 700 && s.span[2].leave == 800);
	assert_int_equal(s.repaired, 2);
	clock_spans_allow(&s, &(struct clock_span){210, 220}, 1); /* within a gap */
	assert_int_equal(s.nr, 4);
	clock_spans_allow(&s, &(struct clock_span){150, 305}, 1); /* over several */
	assert_int_equal(s.nr, 2);
	assert_true(s.span[0].enter == 100 && s.span[0].leave == 600);
	clock_spans_allow(&s, &(struct clock_span){1, 99}, 1);
	clock_spans_allow(&s, &(struct clock_span){900, 1000}, 1);
	assert_int_equal(s.nr, 2); /* outside of the recording nothing is forbidden anyway */
	clock_spans_deinit(&s);
}

/* More is allowed then, never less. */
static void holes_are_joined(void **state)
{
	struct clock_span hole[] = {{50, 60}, {10, 20}, {30, 45}, {40, 47}, {70, 80}, {90, 95}};

	(void)state;
	assert_int_equal(clock_holes_join(hole, 6, 5), 5); /* one was in another */
	assert_true(hole[1].enter == 30 && hole[1].leave == 47);
	assert_int_equal(clock_holes_join(hole, 5, 2), 2);
	assert_true(hole[0].enter == 10 && hole[0].leave == 60);
	assert_true(hole[1].enter == 70 && hole[1].leave == 95);
	assert_int_equal(clock_holes_join(hole, 2, 1), 1);
	assert_true(hole[0].enter == 10 && hole[0].leave == 95);
}

/* ---- the proof and the protocols ---- */

/* In guest mode 1000..1900, 2000..2900, ...: out for 100 in every 1000. */
enum { SPANS = 100, STAMPS = 1000 };

static struct clock_span spans[SPANS];
static uint64_t stamps[STAMPS];
static struct clock_report report = {.host_tsc = 500, .change = true, .before = 0, .offset = -400};

static struct clock_input input_make(int64_t offset)
{
	for (unsigned int i = 0; i < SPANS; i++)
		spans[i] = (struct clock_span){1000 * (i + 1), 1000 * (i + 1) + 900};
	for (unsigned int i = 0; i < STAMPS; i++)
		stamps[i] = 1000 * (i / 10 + 1) + 45 + 90 * (i % 10) + (uint64_t)offset;
	return (struct clock_input){.span = spans,
				    .nr_spans = SPANS,
				    .stamp = stamps,
				    .nr_stamps = STAMPS,
				    .report = &report,
				    .nr_reports = 1};
}

static void check_counts_violations(void **state)
{
	struct clock_input in = input_make(0);
	struct clock_segment s = {0};
	struct clock_vcpu v = {.segment = &s, .nr_segments = 1};
	struct clock_relation rel = {.vcpu = &v, .nr_vcpus = 1};
	struct clock_proof p = clock_check(&rel, &in, 1, NULL);

	(void)state;
	assert_true(p.checked == STAMPS && !p.violations && !p.unchecked && !p.worst_ticks);
	s.offset = -80; /* 80 late: the last of each ten is 35 beyond the exit; the very last is after the recording */
	p = clock_check(&rel, &in, 1, NULL);
	assert_int_equal(p.unchecked, 1);
	assert_int_equal(p.violations, SPANS - 1);
	assert_int_equal(p.worst_ticks, 35);
	v.error_ticks = 35; /* within the bound it is none */
	p = clock_check(&rel, &in, 1, NULL);
	assert_int_equal(p.violations, 0);
	assert_int_equal(p.worst_ticks, 35);
	s.offset = 1000000000;
	p = clock_check(&rel, &in, 1, NULL);
	assert_int_equal(p.checked, 0);
	assert_int_equal(p.unchecked, STAMPS);
}

static void read_is_believed_if_it_holds(void **state)
{
	struct clock_input in = input_make(-400);
	struct clock_options opt = {0};
	struct clock_relation rel;

	(void)state;
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_string_equal(rel.protocol->name, "read");
	assert_string_equal(rel.note, "");
	assert_int_equal(rel.vcpu[0].nr_segments, 1); /* nothing ran before the first write */
	assert_int_equal(rel.vcpu[0].segment[0].offset, -400);
	assert_int_equal(rel.vcpu[0].proof.violations, 0);
	clock_relation_deinit(&rel);
}

static void read_is_rejected_if_it_is_not_in_effect(void **state)
{
	struct clock_input in;
	struct clock_options opt = {0};
	struct clock_relation rel;

	(void)state;
	report.offset = -450;
	in = input_make(0);
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_string_equal(rel.protocol->name, "read");
	assert_int_equal(rel.vcpu[0].segment[0].offset, 0);
	assert_non_null(strstr(rel.note, "not in effect"));
	clock_relation_deinit(&rel);
	in = input_make(-3333); /* neither of the two: fitted, with a note */
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_string_equal(rel.protocol->name, "fitted");
	assert_non_null(strstr(rel.note, "read offset was rejected"));
	clock_relation_deinit(&rel);
	opt.method = "read"; /* who insists gets it, with its violations */
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_string_equal(rel.protocol->name, "read");
	assert_true(rel.vcpu[0].proof.violations > 50);
	clock_relation_deinit(&rel);
	report.offset = -400;
}

static void given_comes_first(void **state)
{
	struct clock_input in = input_make(-7);
	struct clock_options opt = {.have_given = true, .given = {.offset = -7}};
	struct clock_relation rel;

	(void)state;
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_string_equal(rel.protocol->name, "given");
	clock_relation_deinit(&rel);
	opt.method = "sundial";
	assert_int_equal(clock_align(&in, 1, &opt, &rel), -ENODATA);
	opt = (struct clock_options){.method = "given"};
	assert_int_equal(clock_align(&in, 1, &opt, &rel), -ENODATA);
	assert_int_equal(clock_align(&in, CLOCK_VCPUS_MAX + 1, &opt, &rel), -ENOMEM);
}

/* A guest writes its TSC half way: one stale offset is refuted, the segments are not. */
static void an_offset_that_changes_needs_segments(void **state)
{
	struct clock_report r[] = {
		{.host_tsc = 10, .offset = -400},
		{.host_tsc = 50950, .change = true, .before = -400, .offset = 70433},
	};
	struct clock_input in = input_make(-400);
	struct clock_options opt = {.method = "read"};
	struct clock_relation rel;

	(void)state;
	for (unsigned int i = 500; i < STAMPS; i++) /* from 51000 on */
		stamps[i] += 70433 + 400;
	in.report = r;
	in.nr_reports = 2;
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_int_equal(rel.vcpu[0].nr_segments, 2);
	assert_int_equal(rel.vcpu[0].proof.checked, STAMPS);
	assert_int_equal(rel.vcpu[0].proof.violations, 0);
	clock_relation_deinit(&rel);
	in.nr_reports = 1;
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_true(rel.vcpu[0].proof.checked < STAMPS || rel.vcpu[0].proof.violations);
	clock_relation_deinit(&rel);
}

/*
 * A VM that is put back to a snapshot: its TSC goes back, and what it timestamps then could, by the order alone, lie in
 * the time before, when it recorded nothing. Guest mode shows the difference: 100 ticks in every 1000. The first three
 * timestamps afterwards would lie in guest mode either way.
 */
enum { BACK = 800030, BACK_AT = 1000500, BACK_SPANS = 1500, BACK_STAMPS = 60 };

static struct clock_input back_input(uint64_t stamp[BACK_STAMPS], struct clock_report *r, size_t nr)
{
	static struct clock_span span[BACK_SPANS];

	for (unsigned int i = 0; i < BACK_SPANS; i++)
		span[i] = (struct clock_span){1000 * (i + 1), 1000 * (i + 1) + 100};
	return (struct clock_input){.span = span,
				    .nr_spans = BACK_SPANS,
				    .stamp = stamp,
				    .nr_stamps = BACK_STAMPS,
				    .report = r,
				    .nr_reports = nr};
}

static void a_tsc_set_back_is_placed_by_guest_mode(void **state)
{
	static const unsigned int within[] = {95, 95, 95, 20, 40, 80, 10, 99, 5, 60};
	struct clock_report r[] = {
		{.host_tsc = 10, .offset = 0},
		{.host_tsc = BACK_AT, .change = true, .before = 0, .offset = -BACK},
	};
	uint64_t stamp[BACK_STAMPS], host[BACK_STAMPS];
	struct clock_input in = back_input(stamp, r, 2);
	struct clock_options opt = {0};
	struct clock_relation rel;
	struct clock_cursor c = {0};

	(void)state;
	for (unsigned int i = 0; i < BACK_STAMPS; i++) {
		bool after = i >= BACK_STAMPS / 2;

		host[i] = (after ? BACK_AT + 4500 : 100000) + 1000 * (i % (BACK_STAMPS / 2)) +
			  within[i % 10];
		stamp[i] = host[i] - (after ? BACK : 0);
	}
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_string_equal(rel.protocol->name, "read");
	assert_string_equal(rel.note, "");
	assert_int_equal(rel.vcpu[0].nr_segments, 2);
	assert_int_equal(rel.vcpu[0].proof.checked, BACK_STAMPS);
	assert_int_equal(rel.vcpu[0].proof.violations, 0);
	assert_int_equal(rel.vcpu[0].uncertain, 3);
	for (unsigned int i = 0; i < BACK_STAMPS; i++)
		assert_int_equal(clock_vcpu_host(&rel.vcpu[0], &c, stamp[i]), host[i]);
	clock_relation_deinit(&rel);
}

/* Put back twice without a timestamp between: what follows could, by the order, lie after either, or before both. */
static void a_segment_without_timestamps_is_passed_over(void **state)
{
	struct clock_report r[] = {
		{.host_tsc = 10, .offset = 0},
		{.host_tsc = 600500, .change = true, .before = 0, .offset = -400090},
		{.host_tsc = BACK_AT, .change = true, .before = -400090, .offset = -BACK},
	};
	uint64_t stamp[BACK_STAMPS];
	struct clock_input in = back_input(stamp, r, 3);
	struct clock_options opt = {0};
	struct clock_relation rel;
	struct clock_cursor c = {0};

	(void)state;
	for (unsigned int i = 0; i < BACK_STAMPS; i++)
		stamp[i] = i < BACK_STAMPS / 2 ? 100000 + 1000 * i + i
					       : BACK_AT + 4500 + 1000 * i + 10 * (i % 10) - BACK;
	assert_int_equal(clock_align(&in, 1, &opt, &rel), 0);
	assert_string_equal(rel.protocol->name, "read");
	assert_int_equal(rel.vcpu[0].nr_segments, 3);
	assert_int_equal(rel.vcpu[0].proof.checked, BACK_STAMPS);
	assert_int_equal(rel.vcpu[0].proof.violations, 0);
	for (unsigned int i = 0; i < BACK_STAMPS; i++)
		assert_int_equal(clock_vcpu_host(&rel.vcpu[0], &c, stamp[i]),
				 stamp[i] + (i < BACK_STAMPS / 2 ? 0 : BACK));
	clock_relation_deinit(&rel);
}

/* ---- kicks ---- */

static void kicks_are_paired_by_order(void **state)
{
	enum { KICKS = 50 };
	uint64_t guest[KICKS], host[KICKS], at = 1000000;
	struct clock_limit limit[KICKS];
	uint64_t work = CLOCK_WORK_MAX, none = 0;

	(void)state;
	for (unsigned int i = 0; i < KICKS; i++) {
		at += 5000 + i * i * 977 % 90001;
		guest[i] = at;
		host[i] = at + 700000 + 250 + i * 31 % 17;
	}
	assert_int_equal(clock_limits_match(guest, KICKS, host, KICKS, &work, limit), KICKS);
	assert_true(limit[3].guest_tsc == guest[3] && limit[3].host_tsc == host[3] &&
		    limit[3].guest_first);
	assert_int_equal(clock_limits_match(guest + 7, KICKS - 7, host, KICKS, &work, limit),
			 KICKS - 7);
	assert_true(limit[0].guest_tsc == guest[7] && limit[0].host_tsc == host[7]);
	assert_int_equal(clock_limits_match(guest, KICKS, host + 4, KICKS - 10, &work, limit),
			 KICKS - 10);
	assert_true(limit[0].guest_tsc == guest[4] && limit[0].host_tsc == host[4]);
	assert_int_equal(clock_limits_match(guest, 0, host, KICKS, &work, limit), 0);
	assert_int_equal(clock_limits_match(guest, KICKS, host, KICKS, &none, limit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mono_follows_a_slewed_clock),
		cmocka_unit_test(mono_goes_back_and_forth),
		cmocka_unit_test(mono_error_grows_outside),
		cmocka_unit_test(mono_leaves_bad_pairs_out),
		cmocka_unit_test(segments_as_kvm_computes),
		cmocka_unit_test(cursor_follows_the_order),
		cmocka_unit_test(reports_become_segments),
		cmocka_unit_test(spans_forbid_only_what_is_certain),
		cmocka_unit_test(holes_are_joined),
		cmocka_unit_test(check_counts_violations),
		cmocka_unit_test(read_is_believed_if_it_holds),
		cmocka_unit_test(read_is_rejected_if_it_is_not_in_effect),
		cmocka_unit_test(given_comes_first),
		cmocka_unit_test(an_offset_that_changes_needs_segments),
		cmocka_unit_test(a_tsc_set_back_is_placed_by_guest_mode),
		cmocka_unit_test(a_segment_without_timestamps_is_passed_over),
		cmocka_unit_test(kicks_are_paired_by_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
