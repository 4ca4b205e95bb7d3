/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Do two series of measurements differ? The test of Wilcoxon, Mann and Whitney. */
#ifndef HOSTRACE_RANK_TEST_H
#define HOSTRACE_RANK_TEST_H

#include <stddef.h>

enum { RANK_TEST_MIN = 16 }; /* values of each series; the approximations do not hold for fewer */

struct rank_test {
	double p_value; /* two-sided */
	double u_shift; /* above 0: the second series has the higher ranks */
	double shift;	/* of the second series above the first: the median of all differences (Hodges, Lehmann) */
	double low, high; /* interval of the shift with a confidence of 95 % */
};

/*
 * Both series in order of time. -ENOMEM with the error message set; -EINVAL: fewer than RANK_TEST_MIN values.
 */
int rank_test(const double *a, size_t nr_a, const double *b, size_t nr_b, struct rank_test *ret);

/*
 * Holm's correction for several tests at once, in place: if those below X are called significant, the probability that
 * one or more of them is so by chance is at most X, however the tests depend on each other. -ENOMEM with the error
 * message set.
 */
int rank_test_adjust(double *p_value, size_t nr);

/*
 * Both series in order of time, of BATCHES values or more. Returns the two-sided p-value, 1 if all values are equal.
 * *ret_difference: mean of the batches of b, less that of a.
 */
double batch_test(const double *a, size_t nr_a, const double *b, size_t nr_b,
		  double *ret_difference);

/* The probability that a t-distributed value with `freedom` degrees of freedom is at least as far from 0 as t. */
double student_two_sided(double t, unsigned int freedom);

#endif
