// SPDX-License-Identifier: GPL-2.0-or-later
/* A flame graph of many stacks stays below 1 MB and says how many frames it leaves out; frames are neighbours. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "output/flame_svg.h"
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
	assert_non_null(strstr(svg, " narrow frames are not drawn"));
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
	assert_non_null(strstr(svg, "x=\"0\" y=\"34\" width=\"8\""));
	assert_non_null(strstr(svg, "<title>a: 8, 72.73 %</title>"));
	assert_non_null(strstr(svg, "x=\"5\" y=\"17\" width=\"3\""));
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
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_diff),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
