// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/digits.h"

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

static void check_general(double v)
{
	char want[64], buf[64];

	snprintf(want, sizeof(want), "%g", v);
	*decimal_put_general(buf, v) = '\0';
	assert_string_equal(buf, want);
}

/* Six digits, rounded by the exact binary value, which differs from 0.000100000500 and 1000.005 as written. */
static void general_as_printf_does(void **state)
{
	static const double odd[] = {0,
				     -0.0,
				     1,
				     0.1,
				     0.5,
				     0.25,
				     9.5,
				     1e-4,
				     9.9999e-5,
				     1e-5,
				     0.00099999995,
				     0.0999999999,
				     0.99999949999,
				     0.9999995,
				     0.99999951,
				     9.9999995,
				     99999.95,
				     99999.949,
				     999998.5,
				     999999,
				     999999.5,
				     1e6,
				     1e15,
				     1e300,
				     1e-300,
				     -1,
				     -0.125,
				     100000.5,
				     100001.5,
				     0.000100000500,
				     1000.005,
				     1000.0625,
				     10000.25,
				     10000.75,
				     1.0 / 0.0,
				     -1.0 / 0.0};
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		check_general(odd[i]);
	for (int i = 0; i < 200000; i++) {
		double v;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		check_general((double)(x % 100000000) / 1e6);
		check_general((double)(x % 10000000) / 32); /* ties */
		check_general((double)(x % 1000) / 7);
		check_general((double)(x >> 12) / (double)(1ull << x % 64));
		memcpy(&v, &x, sizeof(v));
		check_general(v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_printf_does),
					   cmocka_unit_test(general_as_printf_does)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
