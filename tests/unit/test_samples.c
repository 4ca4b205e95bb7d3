// SPDX-License-Identifier: GPL-2.0-or-later
/* Arguments of samples and the fast text output, compared with plain ways of doing the same. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/units.h"
#include "output/samples/packets.h"
#include "output/samples/samples_output.h"
#include "output/samples/text_out.h"

static const uint64_t numbers[] = {0, 1, 9, 10, 99, 100, 255, 4096, 99999, 0x7fffffff, 0xffffffff,
				   0x100000000, 999999999, 1000000000, 8880000842, 0xdeadbeefcafe,
				   0x7fffffffffffffff, UINT64_MAX};

static void numbers_as_printf(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		uint64_t v = numbers[i];
		char mine[64], plain[64], seconds[32];

		*put_hex16(mine, v) = 0;
		snprintf(plain, sizeof(plain), "%016" PRIx64, v);
		assert_string_equal(mine, plain);
		*put_hex(mine, v) = 0;
		snprintf(plain, sizeof(plain), "%" PRIx64, v);
		assert_string_equal(mine, plain);
		for (unsigned int width = 0; width < 24; width += 3) {
			*put_dec_right(mine, v, width) = 0;
			snprintf(plain, sizeof(plain), "%*" PRIu64, (int)width, v);
			assert_string_equal(mine, plain);
		}
		*put_timestamp(mine, v, 19) = 0;
		snprintf(seconds, sizeof(seconds), "%" PRIu64 ".%09" PRIu64, v / 1000000000,
			 v % 1000000000);
		snprintf(plain, sizeof(plain), "%19s", seconds);
		assert_string_equal(mine, plain);
	}
}

static void layout_aligns(void **state)
{
	struct sample_arg_place place[SAMPLE_ARGS_MAX];
	size_t size;

	(void)state;
	assert_int_equal(sample_args_layout("iPiq", place, &size), 4);
	assert_int_equal(size, 32);
	assert_int_equal(place[1].offset, 8);
	assert_int_equal(place[3].offset, 24);
	assert_int_equal(sample_args_layout("b50pH", place, &size), 3);
	assert_int_equal(place[1].offset, 1);
	assert_int_equal(place[2].offset, 52);
	assert_int_equal(sample_args_layout("b*", place, &size), -1);
	assert_int_equal(sample_args_layout("z", place, &size), -1);
	assert_int_equal(sample_args_layout("", place, &size), 0);
}

static const char *formatted(const char *signature, const char *format, const void *args,
			     uint32_t len)
{
	static char buf[512];
	struct sample_type tp = {
		.name = "t", .format = (char *)format, .signature = (char *)signature};
	struct sample s = {.tp = &tp, .args = args, .args_len = len};

	return sample_format(&s, buf, sizeof(buf));
}

static void formats_as_python(void **state)
{
	int32_t minus[] = {-1, -255};
	uint8_t blob[] = {3, 0, 0xaa, 0xbb, 0x0c};

	(void)state;
	assert_string_equal(formatted("ii", "0x%x %016x", minus, 8), "0x-1 -0000000000000ff");
	assert_string_equal(formatted("i", "%u|%%", minus, 4), "-1|%");
	assert_string_equal(formatted("*", "d=%s", blob, 5), "d={aa bb 0c}");
	assert_string_equal(formatted("P", "%p", &(uint64_t){0xabc}, 8), "0x0000000000000abc");
	assert_string_equal(formatted("?", "%s %%", &(uint8_t){1}, 1), "True %");
	assert_null(formatted("i", "%d %d", minus, 4));
	assert_null(formatted("ii", "%d", minus, 8));
	assert_null(formatted("q", "%lld", &(int64_t){1}, 8));
	assert_null(formatted("q", "%d", minus, 4)); /* block too short */
}

static void ranges_touch(void **state)
{
	struct time_range r = {true, true, 2000, 3000};
	double ns;

	(void)state;
	assert_true(time_range_has(&r, 2000));
	assert_false(time_range_has(&r, 3000));
	assert_true(time_range_trim(&r, 1000, 1000, &ns));
	assert_true(ns == 0);
	assert_true(time_range_trim(&r, 1000, 5000, &ns));
	assert_true(ns == 1000);
	assert_false(time_range_trim(&r, 3001, 10, &ns));
}

static void pretty_units(void **state)
{
	static const struct {
		double ns;
		const char *text;
	} rows[] = {{0, "0"},		  {1, "1.00 ns"},	{999, "999.00 ns"},
		    {1000, "1.00 us"},	  {2470000, "2.47 ms"}, {503e9, "8.38 m"},
		    {3600e9, "1.00 h"}, {1.5e9, "1.50 s"}};
	char buf[32];

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_string_equal(duration_print_wide(rows[i].ns, buf, sizeof(buf)),
				    rows[i].text);
}

static void state_is(const char *text, bool compat, const char *want)
{
	char buf[128];

	strcpy(buf, text);
	*tcp_state_text(buf, buf + strlen(buf), compat) = 0;
	assert_string_equal(buf, want);
}

static void tcp_states(void **state)
{
	(void)state;
	state_is("tp=1, 10 -> 9", false, "tp=1, TIME_WAIT -> FIN_WAIT_2");
	state_is("tp=1, 10 -> 9", true, "tp=1, 1CLOSED -> FIN_WAIT_2");
	state_is("tp=1, 0 -> 4", false, "tp=1, CLOSED -> ESTABLISHED");
	state_is("tp=1, 11 -> 3", false, "tp=1, 11 -> 3");
	state_is("tp=1, 0 -> 99999999999999999999", false, "tp=1, 0 -> 99999999999999999999");
	state_is("", false, "");
	state_is(" -> 3", true, " -> 3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_as_printf), cmocka_unit_test(layout_aligns),
		cmocka_unit_test(formats_as_python), cmocka_unit_test(ranges_touch),
		cmocka_unit_test(pretty_units),	     cmocka_unit_test(tcp_states),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
