// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Before cmocka.h, which has a macro of the name fail. */
#include "base/error.h"

#include <cmocka.h>

#include "base/condition.h"

/* A record: n is 5, big 2^64 - 1, negative -3, name "io" (also "IO_INSTRUCTION"), zero 0; none of others. */
static bool value_get(void *arg, unsigned int i, struct condition_value *v)
{
	static const struct {
		const char *name, *text;
		long double number;
	} record[] = {{"n", "5", 5},
		      {"big", NULL, (long double)UINT64_MAX},
		      {"negative", "-3", -3},
		      {"name", "io", 7},
		      {"zero", "0", 0}};
	unsigned int nr;
	const struct condition_field *f = condition_fields(arg, &nr);

	assert_true(i < nr);
	for (size_t k = 0; k < sizeof(record) / sizeof(*record); k++) {
		if (strcmp(record[k].name, f[i].name) != 0)
			continue;
		v->number = record[k].number;
		v->text = record[k].text;
		v->others = strcmp(f[i].name, "name") ? NULL : "IO_INSTRUCTION,KVM_EXIT_IO";
		v->fold = v->others;
		return true;
	}
	return false;
}

static bool holds(const char *text)
{
	struct condition *c;
	bool ret;

	assert_int_equal(condition_parse("--where", text, &c), 0);
	ret = condition_holds(c, value_get, c);
	condition_free(c);
	return ret;
}

static void comparisons(void **state)
{
	(void)state;
	assert_true(holds("n == 5 && n != 6 && n < 6 && n <= 5 && n > 4 && n >= 5 && n == 0x5"));
	assert_false(holds("n == 6 || n != 5 || n < 5 || n <= 4 || n > 5 || n >= 6"));
	assert_true(holds("big == 18446744073709551615 && big == 0xffffffffffffffff && big > 0"));
	assert_false(holds("big == 18446744073709551614"));
	assert_true(holds("negative < -2 && negative == -3 && n > -1"));
	assert_true(holds("n in (1, 5) && !(n in (1, 2))"));
	assert_true(holds("n < 1us && n < 0.01us && n < 1k && n < 1M"));
	assert_true(holds("n && !zero"));
	assert_false(holds("zero"));
}

static void strings(void **state)
{
	(void)state;
	assert_true(holds("name == \"io\" && name == 'IO' && name == \"io_instruction\""));
	assert_true(holds("name ~ \"i*\" && name ~ 'KVM_*' && name !~ 'hlt*' && name != 'hlt'"));
	assert_true(holds("name in ('hlt', 'io') && name == 7"));
	assert_false(holds("name == ''"));
}

static void precedence(void **state)
{
	(void)state;
	assert_true(holds("n == 5 || n == 5 && n == 6"));
	assert_false(holds("(n == 5 || n == 5) && n == 6"));
	assert_false(holds("!n == 5")); /* of the comparison */
	assert_true(holds("!(n == 5) || !!(n == 5)"));
}

/* As NULL in SQL. */
static void unknown(void **state)
{
	(void)state;
	assert_false(holds("absent == 1"));
	assert_false(holds("!(absent == 1)"));
	assert_false(holds("absent != 1"));
	assert_false(holds("absent"));
	assert_true(holds("absent == 1 || n == 5"));
	assert_true(holds("n == 5 || absent == 1"));
	assert_true(holds("!(absent == 1 && n == 6)"));
	assert_false(holds("!(absent == 1 && n == 5)"));
}

static void wrong(const char *text, unsigned int column)
{
	struct condition *c;
	unsigned int at;
	char want[32];

	assert_int_equal(condition_parse("--where", text, &c), -EINVAL);
	assert_null(c);
	assert_true(error_is_usage());
	snprintf(want, sizeof(want), "--where: column %u: ", column);
	assert_memory_equal(error_text(), want, strlen(want));
	error_line(&at);
	assert_true(at && at <= column);
}

static void errors(void **state)
{
	char many[1024] = "n";

	(void)state;
	wrong("", 1);
	wrong("  ", 3);
	wrong("n >", 4);
	wrong("n = 5", 3);
	wrong("n > \"a\"", 5);
	wrong("name ~ 5", 8);
	wrong("n in 5", 6);
	wrong("n in ()", 7);
	wrong("n in (1 2)", 9);
	wrong("n == 5 n == 6", 8);
	wrong("n == 5 & n == 6", 8);
	wrong("n == 5x", 7);
	wrong("name == 'io", 9);
	wrong("name == 'é' && n = 5", 18);
	while (strlen(many) < 900)
		strcat(many, "||n");
	wrong(many, 3 * 128 + 2); /* after 129 fields with 127 operators */
}

static void singles(void **state)
{
	struct condition_single s;
	struct condition *c;

	(void)state;
	assert_int_equal(condition_parse("--trigger", "exit-latency > 10ms", &c), 0);
	assert_true(condition_is_single(c, &s));
	assert_string_equal(s.name, "exit-latency");
	assert_string_equal(s.op, ">");
	assert_string_equal(s.value, "10ms");
	condition_free(c);
	assert_int_equal(condition_parse("--trigger", "vm-end", &c), 0);
	assert_true(condition_is_single(c, &s));
	assert_null(s.op);
	condition_free(c);
	assert_int_equal(condition_parse("--trigger", "a > 1 && b > 2", &c), 0);
	assert_false(condition_is_single(c, &s));
	condition_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comparisons), cmocka_unit_test(strings),
		cmocka_unit_test(precedence),  cmocka_unit_test(unknown),
		cmocka_unit_test(errors),      cmocka_unit_test(singles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
