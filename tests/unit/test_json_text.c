// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_text.h"

static void check(const char *text, const char *want)
{
	char buf[256];

	snprintf(buf, sizeof(buf), "%s", text);
	assert_string_equal(json_text_shorten(buf), want);
}

static void reals_become_short(void **state)
{
	(void)state;
	check("0.10000000000000001", "0.1");
	check("{\"a\":0.10000000000000001,\"b\":[-0.29999999999999999,1]}",
	      "{\"a\":0.1,\"b\":[-0.3,1]}");
	check("5.0000000000000004e-10", "5e-10");
	check("99999999999999991611392.0", "1e+23");
	check("2.0000000000000000", "2.0");
	/* nothing shorter is the same number */
	check("0.30000000000000004", "0.30000000000000004");
	check("[1.7976931348623157e308]", "[1.7976931348623157e308]");
}

static void what_is_no_long_real_stays(void **state)
{
	static const char *const same[] = {
		"12345678901234567890", "-9223372036854775807", "0.25", "1.0", "1e5", "0.0", "",
		"{\"0.10000000000000001\":\"0.10000000000000001 \\\" 0.10000000000000001\\\\\"}",
		"[true,false,null]", "\"0.10000000000000001", "\"\\"};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		check(same[i], same[i]);
}

static void integers_beyond_janssons_are_exact(void **state)
{
	static const struct {
		uint64_t v;
		const char *text;
	} all[] = {{0, "[0]"},
		   {INT64_MAX, "[9223372036854775807]"},
		   {UINT64_C(1) << 63, "[\"9223372036854775808\"]"},
		   {UINT64_MAX, "[\"18446744073709551615\"]"}};

	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		json_t *list = json_pack("[o]", json_u64(all[i].v));
		char *text = json_text_make(list, JSON_COMPACT);

		assert_string_equal(text, all[i].text);
		assert_true(json_u64_value(json_array_get(list, 0)) == all[i].v);
		free(text);
		json_decref(list);
	}
	assert_true(json_u64_value(NULL) == 0);
}

/* Any number reads back as it was, from a text that is not longer than jansson's. */
static void numbers_read_back_equal(void **state)
{
	uint64_t x = 88172645463325252ull;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		double v;
		uint64_t bits = x;

		memcpy(&v, &bits, sizeof(v));
		if (i % 2)
			v = (double)(x % 1000000) / 1000;
		if (!isfinite(v))
			continue;
		json_t *j = json_real(v), *back;
		char *is = json_text_make(j, JSON_ENCODE_ANY),
		     *was = json_dumps(j, JSON_ENCODE_ANY);

		back = json_loads(is, JSON_DECODE_ANY, NULL);
		assert_true(json_is_real(back));
		assert_true(json_real_value(back) == v);
		assert_true(strlen(is) <= strlen(was));
		assert_true(i % 2 == 0 || strlen(is) <= 8);
		json_decref(back);
		json_decref(j);
		free(is);
		free(was);
	}
}

/* What is in a string needs only its own bytes; the estimate is at least what values are said to need. */
static void only_values_need_memory(void **state)
{
	enum { NR = JSON_LOADED_MAX / 128 };
	static char text[4 * NR];
	json_error_t why;
	json_t *j;

	(void)state;
	memset(text, '[', NR);
	memcpy(text, "[\"\\\"", 4);
	memcpy(text + NR, "\"]", 2);
	j = json_text_load(text, NR + 2, 0, &why);
	assert_int_equal(json_string_length(json_array_get(j, 0)), NR - 3);
	json_decref(j);

	strcpy(text, "{\"a\":[1,\"b\",{}],\"c\":null}");
	j = json_text_load(text, strlen(text), 0, &why);
	assert_non_null(j);
	assert_in_range(json_bytes(j), 500, 1000);
	assert_int_equal(json_bytes(NULL), 0);
	json_decref(j);

	for (size_t i = 0; i < NR; i++)
		memcpy(text + 3 * i, "[],", 3);
	text[0] = '[';
	assert_null(json_text_load(text, 3 * NR - 1, 0, &why));
	assert_non_null(strstr(why.text, "more than 64 MiB"));
}

/* Not "big"; counts what it is asked for. */
static bool wanted(void *arg, const char *key, size_t len, size_t bytes)
{
	assert_true(bytes > 0 || !len);
	++*(unsigned int *)arg;
	return len != 3 || memcmp(key, "big", 3) != 0;
}

static void members_are_loaded_one_by_one(void **state)
{
	static const char whole[] = " {\"a\": {\"x\": [1, \"}],\\\"\"]} , "
				    "\"big\":[{\"a\":2},nothing],\"\":null,\"c\":-3}\n";
	char text[sizeof(whole)];
	unsigned int nr = 0;
	json_error_t why;
	json_t *j;

	(void)state;
	strcpy(text, whole);
	j = json_text_load_members(text, strlen(text), wanted, &nr, &why);
	assert_int_equal(json_object_size(j), 3);
	assert_int_equal(nr, 4);
	assert_int_equal(json_integer_value(json_object_get(j, "c")), -3);
	assert_string_equal(text_of(json_object_get(j, "a"), "x"), "");
	assert_string_equal(json_string_value(json_array_get(
				    json_object_get(json_object_get(j, "a"), "x"), 1)),
			    "}],\"");
	json_decref(j);
	for (size_t len = 2; len < strlen(whole) - 1; len++) { /* the brace at the end is missing */
		memcpy(text, whole, sizeof(text));
		assert_null(json_text_load_members(text, len, wanted, &nr, &why));
		assert_true(*why.text);
	}
	strcpy(text, "{\"a\":1,\"b\":oh}");
	assert_null(json_text_load_members(text, strlen(text), wanted, &nr, &why));
	assert_non_null(strstr(why.text, "oh"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reals_become_short),
		cmocka_unit_test(what_is_no_long_real_stays),
		cmocka_unit_test(integers_beyond_janssons_are_exact),
		cmocka_unit_test(numbers_read_back_equal),
		cmocka_unit_test(only_values_need_memory),
		cmocka_unit_test(members_are_loaded_one_by_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
