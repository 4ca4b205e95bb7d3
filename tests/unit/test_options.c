// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

/* Before cmocka.h, which has a macro of the name fail. */
#include "base/error.h"

#include <cmocka.h>

#include "base/options.h"
#include "base/units.h"

static bool flag;
static const char *text, *by;
static struct text_list list;
static struct number_list numbers;
static uint64_t number, time_ns, bytes;
static struct options_given given;

/* clang-format off */
static const struct option_row rows[] = {
	{'q', "quiet",  OPT_FLAG,     &flag,    NULL,   "a flag"},
	{'o', "output", OPT_TEXT,     &text,    "FILE", "a text"},
	{'i', "input",  OPT_LIST,     &list,    "FILE", "a list"},
	{0,   "by",     OPT_TEXT,     &by,      "KEY[,KEY]", "a list"},
	{0,   "vcpu",   OPT_NUMBERS,  &numbers, "N",    "numbers"},
	{0,   "limit",  OPT_U64,      &number,  "N",    "a number"},
	{0,   "since",  OPT_DURATION, &time_ns, "TIME", "a time"},
	{'d', "during", OPT_SPAN,     &time_ns, "TIME", "more than no time"},
	{0,   "ring",   OPT_SIZE,     &bytes,   "SIZE", "a size"},
	{0,   "limits", OPT_NUMBERS,  &numbers, "N",    "begins as another one does"},
	{0},
};
/* clang-format on */

static const struct option_row *const tables[] = {rows, NULL};

static int reset(void **state)
{
	(void)state;
	flag = false;
	text = NULL;
	list.nr = numbers.nr = 0;
	number = time_ns = bytes = 0;
	return 0;
}

/* Parses the words of a line; *nr arguments are left in argv. */
static int parse(char *line, char **argv, int *nr, int *dashes)
{
	int argc = 1;

	argv[0] = "cmd";
	for (char *save, *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc] = NULL;
	given = (struct options_given){0};
	return options_parse(argc, argv, tables, &given, nr, dashes);
}

static void all_forms(void **state)
{
	char line[] =
		"a -q --output=x -ione -i two --input three b --vcpu 0,2 --vcpu=0x10 --limit 0x20";
	char *argv[32];
	int nr;

	(void)state;
	assert_int_equal(parse(line, argv, &nr, NULL), 0);
	assert_int_equal(nr, 2);
	assert_string_equal(argv[0], "a");
	assert_string_equal(argv[1], "b");
	assert_true(flag);
	assert_string_equal(text, "x");
	assert_int_equal(list.nr, 3);
	assert_string_equal(list.item[0], "one");
	assert_string_equal(list.item[2], "three");
	assert_int_equal(numbers.nr, 3);
	assert_int_equal(numbers.item[1], 2);
	assert_int_equal(numbers.item[2], 16);
	assert_int_equal(number, 32);
}

static void ranges(void **state)
{
	char line[] = "--vcpu 5,0-3,16-31:5 --vcpu 7-7", many[] = "--vcpu 0-1024";
	static const uint32_t expected[] = {5, 0, 1, 2, 3, 16, 21, 26, 31, 7};
	static const char *const wrong[] = {"3-1",   "1-",   "-1",   "1-2-3", "1:2",
					    "0-4:0", "0-4:", "1,,2", "0-4:2x"};
	char *argv[16], word[32];
	int nr;

	(void)state;
	assert_int_equal(parse(line, argv, &nr, NULL), 0);
	assert_int_equal(numbers.nr, sizeof(expected) / sizeof(expected[0]));
	assert_memory_equal(numbers.item, expected, sizeof(expected));
	for (unsigned int i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(word, sizeof(word), "--vcpu=%s", wrong[i]);
		assert_int_equal(parse(word, argv, &nr, NULL), -EINVAL);
	}
	numbers.nr = 0;
	assert_int_equal(parse(many, argv, &nr, NULL), -EINVAL);
	assert_string_equal(error_text(), "--vcpu: more than 1024 numbers");
}

static void more_than_no_time(void **state)
{
	char good[] = "--during 2ms", none[] = "--during 0s", *argv[8];
	int nr;

	(void)state;
	assert_int_equal(parse(good, argv, &nr, NULL), 0);
	assert_int_equal(time_ns, 2000000);
	assert_int_equal(parse(none, argv, &nr, NULL), -EINVAL);
	assert_string_equal(error_text(), "'0s' is no time: it has to be more than 0");
}

static void names_cut_short(void **state)
{
	char line[] = "--out x --rin=4K --inp one --qu", two[] = "--lim 1",
	     none[] = "--nothing", whole[] = "--limit 7";
	char *argv[16];
	int nr;

	(void)state;
	assert_int_equal(parse(line, argv, &nr, NULL), 0);
	assert_string_equal(text, "x");
	assert_int_equal(bytes, 4096);
	assert_int_equal(list.nr, 1);
	assert_true(flag);
	assert_int_equal(parse(two, argv, &nr, NULL), -EINVAL);
	assert_string_equal(error_text(), "ambiguous option --lim (could be --limit, --limits)");
	assert_int_equal(parse(none, argv, &nr, NULL), -EINVAL);
	assert_string_equal(error_text(), "unknown option --nothing");
	assert_int_equal(parse(whole, argv, &nr, NULL), 0);
	assert_int_equal(number, 7);
}

static void values_twice_or_empty(void **state)
{
	static const struct {
		const char *line, *error;
	} wrong[] = {
		{"-o a -o a", "--output: given twice (it takes one value)"},
		{"--output=a b -ob", "--output: given twice (it takes one value)"},
		{"--limit 1 --limit=0", "--limit: given twice (it takes one value)"},
		{"--since=1s --since=2s", "--since: given twice (it takes one value)"},
		{"--output=", "--output: empty value (expected FILE)"},
		{"-i a --input=", "--input: empty value (expected FILE)"},
		{"--by=,a", "--by: empty value (expected KEY[,KEY])"},
		{"--by=a,,b", "--by: empty value (expected KEY[,KEY])"},
		{"--by=a,", "--by: empty value (expected KEY[,KEY])"},
	};
	char fine[] = "-q -q -i a -i a,,b --vcpu 1 --vcpu 1 --no-quiet -o a,,b --by a,b", line[64],
	     *argv[32];
	int nr;

	(void)state;
	assert_int_equal(parse(fine, argv, &nr, NULL), 0);
	assert_int_equal(options_values_check(&given), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		snprintf(line, sizeof(line), "%s", wrong[i].line);
		assert_int_equal(parse(line, argv, &nr, NULL), 0);
		assert_int_equal(options_values_check(&given), -EINVAL);
		assert_string_equal(error_text(), wrong[i].error);
	}
}

static void bundled_letters_and_no(void **state)
{
	char line[] = "-qo out", off[] = "--no-quiet";
	char *argv[8];
	int nr;

	(void)state;
	assert_int_equal(parse(line, argv, &nr, NULL), 0);
	assert_true(flag);
	assert_string_equal(text, "out");
	assert_int_equal(parse(off, argv, &nr, NULL), 0);
	assert_false(flag);
}

static void which_were_given(void **state)
{
	/* A value that is that of the absence counts. */
	char line[] = "--limit 0 -q -i x -i y --ring=0", off[] = "-q -o x --no-quiet";
	char *argv[16];
	int nr;

	(void)state;
	assert_int_equal(parse(line, argv, &nr, NULL), 0);
	assert_int_equal(given.nr, 4);
	for (const struct option_row *o = rows; o->name; o++)
		assert_int_equal(option_is_given(&given, o), !!strchr("qi", o->letter ?: ' ') ||
				 !strcmp(o->name, "limit") || !strcmp(o->name, "ring"));
	assert_int_equal(parse(off, argv, &nr, NULL), 0);
	assert_int_equal(given.nr, 1);
	assert_ptr_equal(given.row[0], &rows[1]);
}

static void dashes_end_options(void **state)
{
	char line[] = "a -- -q b", again[] = "a -- -q b";
	char *argv[8];
	int nr, dashes;

	(void)state;
	assert_int_equal(parse(line, argv, &nr, &dashes), 0);
	assert_int_equal(nr, 1);
	assert_string_equal(argv[dashes], "-q");
	assert_int_equal(parse(again, argv, &nr, NULL),
			 0); /* without a command they are arguments */
	assert_int_equal(nr, 3);
	assert_string_equal(argv[1], "-q");
	assert_false(flag);
}

static void times_and_sizes(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {{"3", 3000000000},	   {"3s", 3000000000}, {"1.5ms", 1500000},
		    {"250us", 250000},	   {"7ns", 7},	       {"2m", 120000000000},
		    {"1h", 3600000000000}, {"1e-6s", 1000}};
	static const char *const bad[] = {"",	 "s",	"-1s",	 "3 s", "3x",
					  "nan", "inf", "1e30h", "0x",	"3ss"};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(parse_duration(good[i].text, &v), 0);
		assert_int_equal(v, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(parse_duration(bad[i], &v), -EINVAL);
	assert_int_equal(parse_size("64K", &v), 0);
	assert_int_equal(v, 65536);
	assert_int_equal(parse_size("1G", &v), 0);
	assert_int_equal(v, 1 << 30);
	assert_int_equal(parse_size("5s", &v), -EINVAL);
}

static void wrong_usage(void **state)
{
	static const char *const bad[] = {"--nope",	  "-z",	       "--output",
					  "-o",		  "--quiet=1", "--limit x",
					  "--limit -1",	  "--vcpu ,",  "--vcpu 1,",
					  "--vcpu 1,x",	  "--vcpu -1", "--vcpu 99999999999",
					  "--since soon", "--ring 1Z", "--no-output"};
	char line[64], *argv[8];
	int nr;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		strcpy(line, bad[i]);
		assert_int_equal(parse(line, argv, &nr, NULL), -EINVAL);
		assert_true(strlen(error_text()) > 5);
	}
}

static void lists_are_bounded(void **state)
{
	char line[16], *argv[8];
	int nr;

	(void)state;
	for (int i = 0; i < OPTION_LIST_MAX; i++) {
		strcpy(line, "-i x --vcpu 1");
		assert_int_equal(parse(line, argv, &nr, NULL), 0);
	}
	strcpy(line, "-i x");
	assert_int_equal(parse(line, argv, &nr, NULL), -EINVAL);
	strcpy(line, "--vcpu 0-959");
	assert_int_equal(parse(line, argv, &nr, NULL), 0);
	strcpy(line, "--vcpu 1");
	assert_int_equal(parse(line, argv, &nr, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_forms, reset),
		cmocka_unit_test_setup(ranges, reset),
		cmocka_unit_test_setup(more_than_no_time, reset),
		cmocka_unit_test_setup(names_cut_short, reset),
		cmocka_unit_test_setup(values_twice_or_empty, reset),
		cmocka_unit_test_setup(bundled_letters_and_no, reset),
		cmocka_unit_test_setup(which_were_given, reset),
		cmocka_unit_test_setup(dashes_end_options, reset),
		cmocka_unit_test_setup(times_and_sizes, reset),
		cmocka_unit_test_setup(wrong_usage, reset),
		cmocka_unit_test_setup(lists_are_bounded, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
