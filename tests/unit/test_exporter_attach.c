// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "exporter/attach.h"

/* Pauses double to 64 s; attempts do not end, also not after a month. */
static void pauses(void **state)
{
	static const unsigned int seconds[] = {1, 2, 4, 8, 16, 32, 64, 64};
	struct attach_attempts a = {0};
	uint64_t now_ns = 5 * NS_PER_S;

	(void)state;
	assert_true(attach_is_due(&a, now_ns));
	for (unsigned int i = 0; i < 40000; i++) {
		uint64_t pause_ns = NS_PER_S * (i < 8 ? seconds[i] : 64);

		attach_failed(&a, "no descriptor", now_ns);
		assert_false(attach_is_due(&a, now_ns + pause_ns - 1));
		now_ns += pause_ns;
		assert_true(attach_is_due(&a, now_ns));
	}
}

static void reports(void **state)
{
	struct attach_attempts a = {0};

	(void)state;
	assert_true(attach_failed(&a, "no descriptor", 0));
	assert_false(attach_failed(&a, "no descriptor", 0));
	assert_true(attach_failed(&a, "no permission", 0));
	assert_false(attach_failed(&a, "no permission", 0));
	assert_true(attach_succeeded(&a));
	assert_false(attach_succeeded(&a));
	assert_true(attach_is_due(&a, 0));
	assert_true(attach_failed(&a, "no permission", 0));
	assert_false(attach_is_due(&a, NS_PER_S - 1));
	assert_true(attach_is_due(&a, NS_PER_S));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pauses), cmocka_unit_test(reports)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
