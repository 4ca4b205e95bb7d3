// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_slice.h"

static struct json_slice slice(const char *text)
{
	return json_slice_of(text, strlen(text));
}

static void check(struct json_slice s, const char *want)
{
	char buf[256];

	assert_non_null(s.at);
	snprintf(buf, sizeof(buf), "%.*s", (int)s.len, s.at);
	assert_string_equal(buf, want);
}

/* The elements, each followed by a blank. */
static void check_all(const char *text, const char *want)
{
	struct json_slice key, value;
	char buf[512] = "";
	size_t offset = 0;

	while (json_slice_next(slice(text), &offset, &key, &value))
		snprintf(buf + strlen(buf), sizeof(buf) - strlen(buf), "%.*s%.*s ", (int)key.len,
			 key.at ? key.at : "", (int)value.len, value.at);
	assert_string_equal(buf, want);
}

static void values_of_arrays_and_objects(void **state)
{
	(void)state;
	check_all("[1, -2.5e3 ,\"a\\\"],{\", [[],{\"x\":[1]}],null,true]",
		  "1 -2.5e3 \"a\\\"],{\" [[],{\"x\":[1]}] null true ");
	check_all("{\"a\": 1,\n\"b\":{\"c\":[\"}\"]} , \"d\\\"\":\"\"}",
		  "\"a\"1 \"b\"{\"c\":[\"}\"]} \"d\\\"\"\"\" ");
	check_all("[]", "");
	check_all(" { } ", "");
	check_all("[\n]", "");
	check_all("\"text\"", "");
	check_all("[1,2", "1 2 ");
	check_all("[\"a", "\"a ");
	check_all("{\"a\"", "");
	check_all("", "");
}

static void members_by_name(void **state)
{
	const char *text = "{\"rowsx\":1,\"rows\":[{\"rows\":2}],\"z\":\"\\\\\"}\n";

	(void)state;
	check(json_slice_member(slice(text), "rows"), "[{\"rows\":2}]");
	check(json_slice_member(slice(text), "z"), "\"\\\\\"");
	assert_null(json_slice_member(slice(text), "row").at);
	assert_null(json_slice_member(slice("[1]"), "rows").at);
	assert_null(json_slice_member(slice(""), "rows").at);
}

static void check_load(const char *text, const char *want)
{
	json_t *value = json_slice_load(slice(text));
	char *got = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6));

	assert_non_null(got);
	assert_string_equal(got, want);
	free(got);
	json_decref(value);
}

static void large_integers_are_digits(void **state)
{
	(void)state;
	check_load("[9223372036854775807,-9223372036854775808]",
		   "[9223372036854775807,-9223372036854775808]");
	check_load("[9223372036854775808,{\"a\":18446744073709551615},1]",
		   "[\"9223372036854775808\",{\"a\":\"18446744073709551615\"},1]");
	check_load("18446744073709551615", "\"18446744073709551615\"");
	check_load("[18446744073709551615,\"18446744073709551615 \\\" 18446744073709551615\"]",
		   "[\"18446744073709551615\",\"18446744073709551615 \\\" 18446744073709551615\"]");
	check_load("[18446744073709551615,18446744073709551615.5]",
		   "[\"18446744073709551615\",1.84467e19]");
	assert_null(json_slice_load(slice("[1,")));
}

static void check_compact(const char *text, const char *want)
{
	char buf[256];

	snprintf(buf, sizeof(buf), "%s", text);
	assert_int_equal(json_slice_compact(buf, strlen(buf)), strlen(want));
	assert_string_equal(buf, want);
}

static void blanks_between_values_are_removed(void **state)
{
	(void)state;
	check_compact(" {\n \"a b\" : [ 1,\t2 ] , \"\\\" \": \"  x\"}\n",
		      "{\"a b\":[1,2],\"\\\" \":\"  x\"}");
	check_compact("", "");
	check_compact(" \n", "");
	check_compact("[\"a  ", "[\"a  ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_of_arrays_and_objects),
		cmocka_unit_test(members_by_name),
		cmocka_unit_test(large_integers_are_digits),
		cmocka_unit_test(blanks_between_values_are_removed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
