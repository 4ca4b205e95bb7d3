// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Before cmocka.h, which has a macro of the name fail. */
#include "base/error.h"

#include <cmocka.h>

#include "base/suggest.h"

static void distances(void **state)
{
	char longest[80];

	(void)state;
	assert_int_equal(suggest_distance("", ""), 0);
	assert_int_equal(suggest_distance("exits", "exits"), 0);
	assert_int_equal(suggest_distance("", "ps"), 2);
	assert_int_equal(suggest_distance("exit", "exits"), 1);	  /* inserted */
	assert_int_equal(suggest_distance("exitss", "exits"), 1); /* removed */
	assert_int_equal(suggest_distance("exots", "exits"), 1);  /* replaced */
	assert_int_equal(suggest_distance("eixts", "exits"), 1);  /* swapped */
	assert_int_equal(suggest_distance("kitten", "sitting"), 3);
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_true(suggest_distance(longest, longest) > 63);
}

static const char *suggested(const char *word)
{
	static const char *const names[] = {"list", "list-timed", "exits", "leaks", "ps"};
	struct suggestion s = {0};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		suggest_try(&s, word, names[i]);
	return s.name;
}

static void close_names_only(void **state)
{
	(void)state;
	assert_string_equal(suggested("lsit"), "list");
	assert_string_equal(suggested("exist"), "exits");
	assert_string_equal(suggested("list-time"), "list-timed");
	assert_string_equal(suggested("pss"), "ps");
	assert_null(suggested("nonsense"));
	assert_null(suggested("xy"));
	assert_null(suggested(""));
}

static void hint(void **state)
{
	struct suggestion none = {0}, one = {"exits", 1};

	(void)state;
	(fail)(-1, "unknown command"); /* not the macro of cmocka.h */
	assert_int_equal(suggest_hint(-2, &none), -2);
	assert_string_equal(error_text(), "unknown command");
	assert_int_equal(suggest_hint(-2, &one), -2);
	assert_string_equal(error_text(), "unknown command; did you mean 'exits'?");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances),
		cmocka_unit_test(close_names_only),
		cmocka_unit_test(hint),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
