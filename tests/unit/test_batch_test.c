// SPDX-License-Identifier: GPL-2.0-or-later
/* The t distribution against printed tables, and how often series of the same process are said to
 * differ. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/rank_test.h"
#include "random_util.h"

static void test_student(void **state)
{
	/* t for 5 % and 0.1 %, two-sided */
	static const struct {
		unsigned int freedom;
		double t5, t01;
	} table[] = {{1, 12.7062, 636.6192},  {2, 4.302653, 31.59905}, {3, 3.182446, 12.92398},
		     {4, 2.776445, 8.610302}, {7, 2.364624, 5.407883}, {8, 2.306004, 5.041305}};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_true(fabs(student_two_sided(table[i].t5, table[i].freedom) - .05) < 1e-6);
		assert_true(fabs(student_two_sided(-table[i].t01, table[i].freedom) - .001) < 1e-7);
		assert_true(student_two_sided(0, table[i].freedom) == 1);
	}
}

static void test_equal_values(void **state)
{
	double a[16] = {0}, b[16], difference;

	(void)state;
	for (size_t i = 0; i < 16; i++)
		b[i] = 3;
	assert_true(batch_test(a, 16, a, 16, &difference) == 1 && difference == 0);
	assert_true(batch_test(a, 16, b, 16, &difference) == 0 && difference == 3);
}

/* Each value is `memory` times the last one, plus a new one; now and then an outlier. */
static double alarms(struct random *r, double memory, double shift)
{
	enum { TRIALS = 3000, VALUES = 100 };
	double v[2][VALUES], difference, sum = 0;

	for (unsigned int n = 0; n < TRIALS; n++) {
		for (unsigned int s = 0; s < 2; s++) {
			double x = random_normal(r) / sqrt(1 - memory * memory);

			for (size_t i = 0; i < VALUES; i++) {
				x = memory * x + random_normal(r);
				v[s][i] = x + s * shift + (random_below(r, 100) ? 0 : 20);
			}
		}
		sum += (batch_test(v[0], VALUES, v[1], VALUES, &difference) < .05) / (double)TRIALS;
	}
	return sum;
}

/* Of 3,000 trials; three standard deviations above 5 % are 6.2 %. */
static void test_false_alarms(void **state)
{
	struct random r = {7};

	(void)state;
	for (double memory = 0; memory < .7; memory += .3) {
		double same = alarms(&r, memory, 0);

		print_message("memory %.1f: %.3f false alarms\n", memory, same);
		assert_true(same < .062);
	}
	assert_true(alarms(&r, 0, 5) > .99);
}

/* Two series that drift by 1 %, and are apart by 200 %: seen in recordings of disks of 20 and 60
 * ms. Ranks miss it. */
static void test_drift(void **state)
{
	double a[100], b[100], difference;
	struct rank_test ranks;

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		a[i] = 20 + .002 * (double)i;
		b[i] = 60 + .006 * (double)i;
	}
	assert_int_equal(rank_test(a, 100, b, 100, &ranks), 0);
	assert_true(ranks.p_value > .05);
	assert_true(batch_test(a, 100, b, 100, &difference) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_student),
		cmocka_unit_test(test_equal_values),
		cmocka_unit_test(test_false_alarms),
		cmocka_unit_test(test_drift),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
