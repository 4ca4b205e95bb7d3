// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers put together without printf() are those that printf() writes. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "output/samples/text_out.h"

static void check(uint64_t v)
{
	char want[64], stamp[64], buf[128];

	for (unsigned int width = 0; width < 24; width += 5) {
		snprintf(want, sizeof(want), "%*" PRIu64, (int)width, v);
		*put_dec_right(buf, v, width) = '\0';
		assert_string_equal(buf, want);
	}
	snprintf(want, sizeof(want), "%" PRIu64, v);
	*put_dec(buf, v) = '\0';
	assert_string_equal(buf, want);
	snprintf(want, sizeof(want), "%" PRIx64, v);
	*put_hex(buf, v) = '\0';
	assert_string_equal(buf, want);
	snprintf(want, sizeof(want), "%016" PRIx64, v);
	*put_hex16(buf, v) = '\0';
	assert_string_equal(buf, want);
	snprintf(stamp, sizeof(stamp), "%" PRIu64 ".%09" PRIu64, v / 1000000000, v % 1000000000);
	snprintf(want, sizeof(want), "%19s", stamp);
	*put_timestamp(buf, v, 19) = '\0';
	assert_string_equal(buf, want);
}

static void numbers(void **state)
{
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (uint64_t v = 1; v && v <= 10000000000000000000ull;
	     v = v > UINT64_MAX / 10 ? 0 : v * 10) {
		check(v - 1);
		check(v);
		check(v + 1);
	}
	for (unsigned int bit = 0; bit < 64; bit++) {
		check(1ull << bit);
		check((1ull << bit) - 1);
	}
	check(UINT64_MAX);
	for (int i = 0; i < 100000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		check(x >> i % 64);
	}
}

static void texts(void **state)
{
	static const char text[96] = "a text that is longer than what is copied at once";
	char buf[128];

	(void)state;
	*put_short(buf, text, 6) = '\0';
	assert_string_equal(buf, "a text");
	*put_short(buf, text, strlen(text)) = '\0';
	assert_string_equal(buf, text);
	*put_right(buf, "1.5", 7) = '\0';
	assert_string_equal(buf, "    1.5");
	*put_right(buf, "12345678.5", 7) = '\0';
	assert_string_equal(buf, "12345678.5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(numbers), cmocka_unit_test(texts)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
