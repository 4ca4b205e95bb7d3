// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/batch_test.h"
#include "base/saturate.h"

#include <math.h>

/* Abramowitz and Stegun, 26.7.3 and 26.7.4. */
double student_two_sided(double t, unsigned int freedom)
{
	double angle = atan(fabs(t) / sqrt(freedom)), cosine = cos(angle), term, sum = 0;
	unsigned int odd = freedom & 1;

	term = odd ? cosine : 1;
	for (unsigned int i = odd; i + 2 <= freedom; i += 2) {
		sum += term;
		term *= cosine * cosine * (i + 1) / (i + 2);
	}
	sum *= sin(angle);
	return fmin(1, fmax(0, 1 - (odd ? (sum + angle) * M_2_PI : sum)));
}

/* Mean of the batches' means, and the variance of that mean. */
static void batches_mean(const double *x, size_t nr, double *ret_mean, double *ret_variance)
{
	double mean[BATCHES], all = 0, squares = 0;

	for (size_t i = 0; i < BATCHES; i++) {
		size_t begin = i * nr / BATCHES, end = (i + 1) * nr / BATCHES;

		mean[i] = 0;
		for (size_t j = begin; j < end; j++)
			mean[i] += x[j] / (double)(end - begin);
		all += mean[i] / BATCHES;
	}
	for (size_t i = 0; i < BATCHES; i++)
		squares += (mean[i] - all) * (mean[i] - all);
	*ret_mean = all;
	*ret_variance = squares / (BATCHES - 1) / BATCHES;
}

double batch_test(const double *a, size_t nr_a, const double *b, size_t nr_b,
		  double *ret_difference)
{
	double mean_a, mean_b, var_a, var_b;

	batches_mean(a, nr_a, &mean_a, &var_a);
	batches_mean(b, nr_b, &mean_b, &var_b);
	double var = var_a + var_b, difference = mean_b - mean_a;

	*ret_difference = difference;
	if (!(var > 0))
		return difference != 0 ? 0 : 1;
	double freedom = var * var * (BATCHES - 1) / (var_a * var_a + var_b * var_b); /* Welch */

	return student_two_sided(difference / sqrt(var), uint32_of_double(freedom));
}
