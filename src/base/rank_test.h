/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do two series of measurements differ? The test of Wilcoxon, Mann and Whitney: it compares ranks, so one extreme value
 * weighs no more than any other, and no distribution is assumed. Ties are corrected for; the normal approximation is
 * used, with a continuity correction.
 *
 * Neighbouring values of a series need not be independent. Their ranks' autocorrelation is estimated in both series,
 * and the statistic's variance is multiplied by it, as if there were fewer values: by (1 + r) / (1 - r) for correlation
 * r of neighbours, or by 1 plus twice the sum of the correlations at growing distance until one is not positive,
 * whichever is more. Estimates are corrected for their bias of about -1/n.
 */
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
