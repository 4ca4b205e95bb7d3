/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do the means of two series of measurements differ? Each is cut into BATCHES consecutive batches, and the means of
 * these are compared by Welch's t-test. Dependence between neighbours is harmless if it is shorter than a batch. Unlike
 * ranks (rank_test.h), the test uses the size of the differences: two series that drift slowly, far apart from each
 * other, have only a few independent ranks, but means that are far apart compared with the drift.
 */
#ifndef HOSTRACE_BATCH_TEST_H
#define HOSTRACE_BATCH_TEST_H

#include <stddef.h>

enum { BATCHES = 5 };

/*
 * Both series in order of time, of BATCHES values or more. Returns the two-sided p-value, 1 if all values are equal.
 * *ret_difference: mean of the batches of b, less that of a.
 */
double batch_test(const double *a, size_t nr_a, const double *b, size_t nr_b,
		  double *ret_difference);

/* The probability that a t-distributed value with `freedom` degrees of freedom is at least as far from 0 as t. */
double student_two_sided(double t, unsigned int freedom);

#endif
