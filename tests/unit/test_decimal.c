// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/decimal.h"

static void check(double v, unsigned int decimals)
{
	char want[400], buf[400];

	snprintf(want, sizeof(want), "%.*f", (int)decimals, v);
	assert_string_equal(decimal_print(v, decimals, buf, sizeof(buf)), want);
}

/* Ties are exact in binary only where they are multiples of a power of two: 0.125 is "0.12". */
static void as_printf_does(void **state)
{
	static const double odd[] = {0,	   0.125, 0.375, 2.5,	 0.005,	 1.005, 99.995,
				     100,  1e11,  1e13,	 1e300,	 -1.25,	 0.999, 0.9999,
				     9.995, 1e-9, 0.5,	 0.0005, 1.0005, 12345678.9};
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		for (unsigned int d = 0; d <= 6; d++)
			check(odd[i], d);
	for (int i = 0; i < 200000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		check((double)(x % 100000000) / 1e6, i % 7);
		check((double)(x % 1000) / 8, i % 7);
		check((double)(x >> 12) / (double)(x % 1000 + 1), i % 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_printf_does)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
