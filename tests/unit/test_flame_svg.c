// SPDX-License-Identifier: GPL-2.0-or-later
/* A flame graph of many stacks stays below 1 MB and says how many frames it leaves out; frames are neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/folded.h"
#include "random_util.h"

static char *draw(char *folded, bool diff, uint64_t *ret_nr)
{
	char *svg = NULL;
	size_t size;
	FILE *f = open_memstream(&svg, &size);

	assert_non_null(f);
	assert_int_equal(flame_svg_put(folded, &(struct flame_svg){.title = "<t>", .diff = diff}, f,
				       ret_nr),
			 0);
	fclose(f);
	return svg;
}

static void test_many(void **state)
{
	struct random r = {.state = 7};
	char *folded = NULL, *svg;
	uint64_t nr;
	size_t size;
	FILE *f = open_memstream(&folded, &size);

	(void)state;
	assert_non_null(f);
	for (unsigned int i = 0; i < 200000; i++) {
		for (uint64_t depth = 1 + random_below(&r, 30); depth; depth--)
			fprintf(f, "a_function_with_a_long_name_<%u>;",
				(unsigned int)random_below(&r, depth > 28 ? 7 : 3));
		fprintf(f, "end %u\n", 1 + (unsigned int)random_below(&r, 1000));
	}
	fclose(f);
	svg = draw(folded, false, &nr);
	assert_int_equal(nr, 200000);
	assert_true(strlen(svg) < 1 << 20);
	assert_non_null(strstr(svg, " frames are too narrow to be drawn one by one"));
	free(svg);
	free(folded);
}

/* Chromium ends lengths at 2^25: places are in pixels, however large the counts are. */
static void test_large(void **state)
{
	char folded[] = "a 1000000000000\nb 3000000000000\n", *svg;
	uint64_t nr;

	(void)state;
	svg = draw(folded, false, &nr);
	assert_non_null(strstr(svg, "viewBox=\"0 0 1176 17\""));
	assert_non_null(strstr(svg, "<rect x=\"294.00\" y=\"0\" width=\"882.00\""));
	assert_non_null(strstr(svg, "data-x=\"1000000000000\" data-n=\"3000000000000\""));
	free(svg);
}

/* Neighbours that are too narrow are one frame: a profile of addresses is not an empty picture. */
static void test_narrow(void **state)
{
	char *folded = NULL, *svg;
	uint64_t nr;
	size_t size;
	FILE *f = open_memstream(&folded, &size);

	(void)state;
	assert_non_null(f);
	for (unsigned int i = 0; i < 40000; i++)
		fprintf(f, "%s;%05x 1\n", i < 30000 ? "a" : "b", i);
	fprintf(f, "a;x;y 60000\nc 1\n");
	fclose(f);
	svg = draw(folded, false, &nr);
	/* of a (below x), of b; that of c is too narrow itself */
	assert_non_null(strstr(svg, "data-x=\"0\" data-n=\"30000\""));
	assert_non_null(strstr(svg, "<title>(narrow frames): 30000, 30.00 %</title>"));
	assert_non_null(strstr(svg, "<title>(narrow frames): 10000, 10.00 %</title>"));
	assert_non_null(strstr(svg, "<title>y: 60000, 60.00 %</title>"));
	assert_non_null(strstr(svg, "40001 frames are too narrow"));
	free(svg);
	free(folded);
}

/* "a" alone and "a;b" are one frame, though "a b" sorts between them. */
static void test_frames(void **state)
{
	char folded[] = "a;b 3\na b 2\na 5\nx;a;a 1\n", *svg;
	uint64_t nr;

	(void)state;
	svg = draw(folded, false, &nr);
	assert_non_null(strstr(
		svg,
		"x=\"0.00\" y=\"34\" width=\"855.27\" height=\"16\" data-x=\"0\" data-n=\"8\""));
	assert_non_null(strstr(svg, "<title>a: 8, 72.73 %</title>"));
	assert_non_null(strstr(svg, "data-x=\"5\" data-n=\"3\""));
	assert_non_null(strstr(svg, "<title>a b: 2, 18.18 %</title>"));
	assert_non_null(strstr(svg, "&lt;t&gt;"));
	free(svg);
}

static void test_diff(void **state)
{
	char folded[] = "a 30 10\nb 10 30\nc 0 0\n", *svg;
	uint64_t nr;

	(void)state;
	svg = draw(folded, true, &nr);
	assert_non_null(strstr(svg, "<title>a: 10, 25.00 %, -50.00 %</title>"));
	assert_non_null(strstr(svg, "<title>b: 30, 75.00 %, +50.00 %</title>"));
	free(svg);
}

static void test_none(void **state)
{
	char folded[] = "", *svg;
	uint64_t nr = 1;

	(void)state;
	svg = draw(folded, false, &nr);
	assert_int_equal(nr, 0);
	assert_non_null(strstr(svg, "no stacks"));
	free(svg);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_narrow),
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
