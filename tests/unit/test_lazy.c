// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/lazy.h"

#include <cmocka.h>

#define FUNCTIONS(X) X(zlibVersion) X(crc32)

static struct {
	FUNCTIONS(LAZY_MEMBER)
} real;

static const struct lazy_symbol symbols[] = {FUNCTIONS(LAZY_SYMBOL)};

static void test_loads_once(void **state)
{
	struct lazy_library lib = {"libz.so.1", symbols, 2};
	(void)state;

	assert_int_equal(lazy_load(&lib), 0);
	assert_true(lib.loaded);
	assert_string_equal(real.zlibVersion(), zlibVersion());
	assert_int_equal(real.crc32(0, (const Bytef *)"way", 3), crc32(0, (const Bytef *)"way", 3));
	assert_int_equal(lazy_load(&lib), 0);
}

static void test_missing_library(void **state)
{
	struct lazy_library lib = {"libnobody-has-this.so.23", symbols, 2};
	(void)state;

	assert_int_equal(lazy_load(&lib), -ENOENT);
	assert_false(lib.loaded);
	assert_non_null(strstr(error_text(), "libnobody-has-this.so.23"));
}

static void test_missing_symbol(void **state)
{
	void *nothing = NULL;
	const struct lazy_symbol odd[] = {{"zlibVersion", &nothing}, {"nobody_has_this", &nothing}};
	struct lazy_library lib = {"libz.so.1", odd, 2};
	(void)state;

	assert_int_equal(lazy_load(&lib), -ENOENT);
	assert_false(lib.loaded);
	assert_string_equal(error_text(), "libz.so.1 has no nobody_has_this()");
}

/* Those that the program really loads are there where it was built, with all their functions. */
static void test_ours(void **state)
{
	(void)state;

	assert_int_equal(lazy_load(&lazy_curl), 0);
	assert_int_equal(lazy_load(&lazy_pcap), 0);
#ifdef HOSTRACE_LIVE
	assert_int_equal(lazy_load(&lazy_capstone), 0);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads_once),
		cmocka_unit_test(test_missing_library),
		cmocka_unit_test(test_missing_symbol),
		cmocka_unit_test(test_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
