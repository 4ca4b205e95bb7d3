// SPDX-License-Identifier: GPL-2.0-or-later
/* The texts of /proc and of cgroups of both versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "vm/limits.h"
#include "vm/reread.h"

#include <cmocka.h>

static void quotas(void **state)
{
	(void)state;
	assert_true(limits_quota("20000 100000\n") == 0.2);
	assert_true(limits_quota("400000\n 100000\n") == 4);
	assert_true(limits_quota("max 100000\n") == 0);
	assert_true(limits_quota("-1\n 100000\n") == 0);
	assert_true(limits_quota("20000") == 0);
	assert_true(limits_quota("20000 0") == 0);
	assert_true(limits_quota("") == 0);
}

static void weights(void **state)
{
	(void)state;
	assert_true(limits_weight("100\n", true) == 1);
	assert_true(limits_weight("1024\n", false) == 1);
	assert_true(limits_weight("50\n", true) == 0.5);
	assert_true(limits_weight("256\n", false) == 0.25);
	assert_true(limits_weight("0\n", true) == 0);
	assert_true(limits_weight("", true) == 0);
}

static void numbers(void **state)
{
	const char *text = "usage_usec 7\nnr_periods 10\nnr_throttled 3\nthrottled_usec 1500\n";

	(void)state;
	assert_int_equal(3, reread_number(text, "nr_throttled"));
	assert_int_equal(1500, reread_number(text, "throttled_usec"));
	assert_int_equal(0, reread_number(text, "throttled"));
	assert_int_equal(0, reread_number("", "nr_throttled"));
	assert_int_equal(0, reread_number("nr_throttled", "nr_throttled"));
}

static void paths(void **state)
{
	const char *both = "4:memory:/m\n3:cpu,cpuacct:/machine/web\n0::/unified\n";
	char path[32];
	bool v2;

	(void)state;
	assert_true(limits_path(both, "cpu", path, sizeof(path), &v2));
	assert_string_equal("/machine/web", path);
	assert_false(v2);
	assert_true(limits_path(both, "cpuacct", path, sizeof(path), &v2));
	assert_true(limits_path(both, "blkio", path, sizeof(path), &v2));
	assert_string_equal("/unified", path);
	assert_true(v2);
	assert_true(limits_path("0::/a.slice/b:c\n", "cpu", path, sizeof(path), &v2));
	assert_string_equal("/a.slice/b:c", path);
	assert_false(limits_path("0::/../outside\n", "cpu", path, sizeof(path), &v2));
	assert_false(limits_path("0::/longer than there is space for it\n", "cpu", path,
				 sizeof(path), &v2));
	assert_false(limits_path("1:name=systemd:/\n", "cpu", path, sizeof(path), &v2));
	assert_false(limits_path("", "cpu", path, sizeof(path), &v2));
	assert_false(limits_path("3:cpu\n", "cpu", path, sizeof(path), &v2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quotas),
		cmocka_unit_test(weights),
		cmocka_unit_test(numbers),
		cmocka_unit_test(paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
