// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest's paravirtual clock: its records in ns and ticks, pieces between records, and when it booted. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "clock/clock.h"

/* The record of a real guest: multiplier of a 2.6 GHz TSC. */
static const struct clock_pvclock records[] = {
	{.host_tsc = 10000000000,
	 .tsc_timestamp = 10000000000,
	 .system_time = 3000000000,
	 .mul = 0xc53792b0,
	 .shift = -1},
	/* the VM stood still for 2.6e9 ticks: system_time resumes where it stopped */
	{.host_tsc = 22600000000,
	 .tsc_timestamp = 22600000000,
	 .system_time = 6851000000,
	 .mul = 0xc53792b0,
	 .shift = -1},
};

static void pvclock_as_documented(void **state)
{
	(void)state;
	assert_int_equal(clock_pvclock_ns(&records[0], 10000000000), 3000000000);
	assert_int_equal(clock_pvclock_ns(&records[0], 12600000000),
			 3000000000 + ((uint64_t)1300000000 * 0xc53792b0 >> 32));
	assert_true(clock_pvclock_ns(&records[0], 9990000000) < 3000000000);
	for (uint64_t tsc = 9000000000; tsc < 20000000000; tsc += 123456789)
		assert_in_range(clock_pvclock_tsc(&records[0], clock_pvclock_ns(&records[0], tsc)),
				tsc - 5, tsc + 5);
	assert_int_equal(clock_pvclock_tsc(&(struct clock_pvclock){.tsc_timestamp = 9}, 7), 9); /* mul 0: hostile */
	clock_pvclock_ns(&(struct clock_pvclock){.shift = 127, .mul = 5}, UINT64_MAX);
	clock_pvclock_ns(&(struct clock_pvclock){.shift = -128, .mul = 5}, UINT64_MAX);
	clock_pvclock_tsc(&(struct clock_pvclock){.shift = 127, .mul = 5}, UINT64_MAX);
	clock_pvclock_tsc(&(struct clock_pvclock){.shift = -128, .mul = 5}, UINT64_MAX);
}

static uint64_t host_of(const struct clock_pvclock *rec, size_t nr, const struct clock_vcpu *v,
			uint64_t ns)
{
	uint64_t least[4];

	clock_pvclock_begins(rec, nr, v, least);
	return clock_pvclock_host(rec, least, nr, v, ns);
}

static void pvclock_is_piecewise(void **state)
{
	struct clock_vcpu none = {0};
	uint64_t before = clock_pvclock_ns(&records[0], 18000000000),
		 after = clock_pvclock_ns(&records[1], 25000000000);

	(void)state;
	assert_in_range(host_of(records, 2, &none, before), 18000000000 - 5,
			18000000000 + 5);
	assert_in_range(host_of(records, 2, &none, after), 25000000000 - 5,
			25000000000 + 5);
	assert_int_equal(host_of(NULL, 0, &none, 1), 0);
}

/* The guest's TSC was set back by 1 ms, then by 500 ticks when its clock jumped; each time KVM wrote a record. */
static void pvclock_follows_the_segments(void **state)
{
	struct clock_segment s[] = {
		{0}, {.from = 2000000, .offset = -1000000}, {.from = 4000000, .offset = -1000500}};
	struct clock_vcpu v = {.segment = s, .nr_segments = 3};
	const struct clock_pvclock rec[] = { /* 1 ns a tick */
		{.mul = 1u << 31, .shift = 1},
		{.host_tsc = 2000000, .tsc_timestamp = 1000000, .system_time = 2000000,
		 .mul = 1u << 31, .shift = 1},
		{.host_tsc = 4000000, .tsc_timestamp = 2999500, .system_time = 9000000,
		 .mul = 1u << 31, .shift = 1}};

	(void)state;
	assert_int_equal(host_of(rec, 3, &v, 1000100), 1000100);
	assert_int_equal(host_of(rec, 3, &v, 2000100), 2000100); /* a guest TSC that was there before */
	assert_int_equal(host_of(rec, 3, &v, 3000000), 3000000);
	assert_int_equal(host_of(rec, 3, &v, 9000000), 4000000);
	assert_int_equal(host_of(rec, 3, &v, 9000200), 4000200);
}

static void pvclock_shows_whether_the_offset_is_in_effect(void **state)
{
	struct clock_segment s = {.offset = -9999000000};
	struct clock_vcpu v = {.segment = &s, .nr_segments = 1};
	struct clock_pvclock applied[2];

	(void)state;
	assert_false(clock_pvclock_offset_in_effect(records, 2, &v));
	memcpy(applied, records, sizeof(applied));
	for (unsigned int i = 0; i < 2; i++)
		applied[i].tsc_timestamp -= 9999000000;
	assert_true(clock_pvclock_offset_in_effect(applied, 2, &v));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pvclock_as_documented),
		cmocka_unit_test(pvclock_is_piecewise),
		cmocka_unit_test(pvclock_follows_the_segments),
		cmocka_unit_test(pvclock_shows_whether_the_offset_is_in_effect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
