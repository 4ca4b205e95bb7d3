// SPDX-License-Identifier: GPL-2.0-or-later
/* Addresses of a guest's REST server. Transfers are tested by tests/live/guest-rest.sh. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "fetch/http.h"

#include <cmocka.h>

static void expect(char *made, const char *wanted)
{
	assert_non_null(made);
	assert_string_equal(made, wanted);
	free(made);
}

static void addresses(void **state)
{
	(void)state;
	expect(http_url(NULL), "http://localhost:8000/");
	expect(http_url(""), "http://localhost:8000/");
	expect(http_url("guest"), "http://guest:8000");
	expect(http_url("guest:80"), "http://guest:80");
	expect(http_url("guest/api"), "http://guest/api");
	expect(http_url("https://guest"), "https://guest");
}

static void paths(void **state)
{
	(void)state;
	expect(http_join("http://guest:8000//", "trace/status"), "http://guest:8000/trace/status");
	expect(http_join("http://guest", ""), "http://guest/");
	expect(http_join("/", "x"), "/x");
	expect(http_escape("sched_switch-1.~"), "sched_switch-1.~");
	expect(http_escape("a b&c=d/%\xff\n"), "a%20b%26c%3Dd%2F%25%FF%0A");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(addresses), cmocka_unit_test(paths)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
