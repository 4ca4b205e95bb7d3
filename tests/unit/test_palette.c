// SPDX-License-Identifier: GPL-2.0-or-later
/* Colours of states: every state of a picture has one, and two of one picture can be told apart. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/blame/blame.h"
#include "analyzers/path/threads.h"
#include "analyzers/timeline/timeline.h"
#include "output/palette.h"

enum { DIFFERENCE_MIN = 15 }; /* of CIE L*a*b*, by Euclid; 2.3 is just noticeable side by side */

static double linear_of(const char *hex)
{
	const char digits[] = {hex[0], hex[1], '\0'};
	double v = (double)strtoul(digits, NULL, 16) / 255;

	return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double lab_of(double t)
{
	return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

static double difference(const char *a, const char *b)
{
	double lab[2][3];

	for (int i = 0; i < 2; i++) {
		const char *fill = i ? b : a;
		double r = linear_of(fill + 1), g = linear_of(fill + 3), u = linear_of(fill + 5);
		double x = lab_of((0.4124 * r + 0.3576 * g + 0.1805 * u) / 0.9505),
		       y = lab_of(0.2126 * r + 0.7152 * g + 0.0722 * u),
		       z = lab_of((0.0193 * r + 0.1192 * g + 0.9505 * u) / 1.089);

		lab[i][0] = 116 * y - 16;
		lab[i][1] = 500 * (x - y);
		lab[i][2] = 200 * (y - z);
	}
	return sqrt(pow(lab[0][0] - lab[1][0], 2) + pow(lab[0][1] - lab[1][1], 2) +
		    pow(lab[0][2] - lab[1][2], 2));
}

/* same: this state may have the colour of another one, as it is not in a picture with it. */
static void picture_check(const char *const *state, unsigned int nr, const char *same)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (strcmp(state[i], "unknown") != 0)
			assert_string_not_equal(palette_fill(state[i]), palette_fill("unknown"));
		for (unsigned int k = 0; k < i; k++) {
			double d = difference(palette_fill(state[i]), palette_fill(state[k]));

			if (d < DIFFERENCE_MIN && (!same || strcmp(state[i], same) != 0))
				fail_msg("%s and %s differ by %.1f", state[i], state[k], d);
		}
	}
}

static void test_timeline(void **state)
{
	const char *kinds[SLICE_KINDS];

	(void)state;
	for (unsigned int k = 0; k < SLICE_KINDS; k++)
		kinds[k] = slice_kind_name(k);
	picture_check(kinds, SLICE_KINDS, "span");
}

static void test_causes(void **state)
{
	(void)state;
	picture_check(blame_cause_names, BLAME_CAUSES, NULL);
}

static void test_path(void **state)
{
	const char *runs[PATH_RUNS + 1];

	(void)state;
	memcpy(runs, path_run_names, sizeof(path_run_names[0]) * PATH_RUNS);
	runs[PATH_RUNS] = "host's disk";
	picture_check(runs, PATH_RUNS + 1, NULL);
}

/* The same state in two pictures has one colour. */
static void test_same(void **state)
{
	(void)state;
	assert_string_equal(palette_fill("runqueue"), palette_fill("run queue"));
	assert_string_equal(palette_fill("userspace"), palette_fill("device"));
	assert_string_equal(palette_fill("blocked"), palette_fill("asleep"));
	assert_string_equal(palette_fill("no such state"), palette_fill("unknown"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_timeline),
		cmocka_unit_test(test_causes),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
