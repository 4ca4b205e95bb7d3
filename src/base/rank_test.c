// SPDX-License-Identifier: GPL-2.0-or-later
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
#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "base/order.h"
#include "base/rank_test.h"
#include "base/saturate.h"

enum { BATCHES = 5 };

static const double CONFIDENCE_95 = 1.959964;
static const double CORRELATION_MAX = 0.95;

struct ranked {
	double value, rank;
	size_t at; /* in the first series, then in the second one */
};

static int by_value(const void *a, const void *b)
{
	return order_double(((const struct ranked *)a)->value, ((const struct ranked *)b)->value);
}

/*
 * rank[]: of the values of both series, in their order; equal ones share the mean. Returns the sum of t^3 - t over all
 * groups of t equal values.
 */
static double rank_values(struct ranked *all, size_t nr, double *rank)
{
	double ties = 0;

	qsort(all, nr, sizeof(*all), by_value);
	for (size_t i = 0, end; i < nr; i = end) {
		for (end = i; end < nr && !by_value(&all[end], &all[i]); end++)
			;
		double t = (double)(end - i);

		for (size_t j = i; j < end; j++)
			rank[all[j].at] = (double)(i + end + 1) / 2;
		ties += t * t * t - t;
	}
	return ties;
}

/* Of values at this distance; 0 if all are equal. */
static double autocorrelation(const double *x, size_t nr, size_t distance)
{
	double mean = 0, sum = 0, products = 0;

	for (size_t i = 0; i < nr; i++)
		mean += x[i] / (double)nr;
	for (size_t i = 0; i < nr; i++) {
		sum += (x[i] - mean) * (x[i] - mean);
		if (i >= distance)
			products += (x[i] - mean) * (x[i - distance] - mean);
	}
	return sum > 0 ? products / sum : 0;
}

/* By how much dependence makes the variance larger: at least 1. */
static double inflation(const double *rank, size_t nr_a, size_t nr_b)
{
	size_t least = nr_a < nr_b ? nr_a : nr_b;
	double first = 0, sum = 0;

	for (size_t k = 1; k <= least / 4; k++) {
		double r = ((double)nr_a * autocorrelation(rank, nr_a, k) +
			    (double)nr_b * autocorrelation(rank + nr_a, nr_b, k)) /
			   (double)(nr_a + nr_b);

		if (k == 1)
			first = r + (1 + 4 * r) / (double)least;
		r += 1 / (double)least;
		if (r <= 0)
			break;
		sum += r;
	}
	first = fmin(fmax(first, 0), CORRELATION_MAX);
	return fmax((1 + first) / (1 - first), 1 + 2 * sum);
}

/* Differences b[j] - a[i] of sorted values that are at most `limit`. */
static size_t count_up_to(const double *a, size_t nr_a, const double *b, size_t nr_b, double limit)
{
	size_t nr = 0, j = 0;

	for (size_t i = 0; i < nr_a; i++) {
		while (j < nr_b && b[j] - a[i] <= limit)
			j++;
		nr += j;
	}
	return nr;
}

/* Doubles in their order as numbers, and back: neighbours differ by 1. */
static int64_t number_of(double x)
{
	int64_t n;

	memcpy(&n, &x, sizeof(n));
	return n < 0 ? INT64_MIN - n : n;
}

static double double_of(int64_t n)
{
	double x;

	n = n < 0 ? INT64_MIN - n : n;
	memcpy(&x, &n, sizeof(x));
	return x;
}

/* The k-th least of all differences (from 0): there are too many to make them, so it is searched for. */
static double difference_at(const double *a, size_t nr_a, const double *b, size_t nr_b, size_t k)
{
	int64_t low = number_of(b[0] - a[nr_a - 1]), high = number_of(b[nr_b - 1] - a[0]);

	while (low < high) {
		int64_t middle = (low & high) + ((low ^ high) >> 1);

		if (count_up_to(a, nr_a, b, nr_b, double_of(middle)) > k)
			high = middle;
		else
			low = middle + 1;
	}
	return double_of(low);
}

/* The median of all differences, and the interval around it that the deviation of the statistic gives. */
static void estimate(const double *a, size_t nr_a, const double *b, size_t nr_b, double deviation,
		     struct rank_test *ret)
{
	size_t nr = nr_a * nr_b;
	double half = (double)nr / 2 - CONFIDENCE_95 * deviation;
	size_t first = half > 0 ? (size_t)half : 0;

	ret->shift = (difference_at(a, nr_a, b, nr_b, nr / 2) +
		      difference_at(a, nr_a, b, nr_b, (nr - 1) / 2)) / 2;
	ret->low = difference_at(a, nr_a, b, nr_b, first);
	ret->high = difference_at(a, nr_a, b, nr_b, nr - 1 - first);
}

/* sorted[]: the values of the first series, then those of the second one, each in their order. */
static void series_sort(const struct ranked *all, size_t nr_a, size_t nr, double *sorted)
{
	size_t at[2] = {0, nr_a};

	for (size_t i = 0; i < nr; i++)
		sorted[at[all[i].at >= nr_a]++] = all[i].value;
}

int rank_test(const double *a, size_t nr_a, const double *b, size_t nr_b, struct rank_test *ret)
{
	size_t nr = nr_a + nr_b;
	_cleanup_free_ struct ranked *all = malloc(nr * sizeof(*all) + 1);
	_cleanup_free_ double *rank = malloc(nr * sizeof(*rank) + 1);
	double n = (double)nr, pairs = (double)nr_a * (double)nr_b, sum = 0;

	if (nr_a < RANK_TEST_MIN || nr_b < RANK_TEST_MIN)
		return fail(-EINVAL, "too few values to compare");
	if (!all || !rank)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		all[i] = (struct ranked){.value = i < nr_a ? a[i] : b[i - nr_a], .at = i};
	double ties = rank_values(all, nr, rank);
	double variance = pairs / 12 * (n + 1 - ties / (n * (n - 1)));
	double deviation = sqrt(fmax(variance, 0) * inflation(rank, nr_a, nr_b));

	for (size_t i = 0; i < nr_a; i++)
		sum += rank[i];
	double u = sum - (double)nr_a * (double)(nr_a + 1) / 2;
	double distance = fmax(0, fabs(u - pairs / 2) - 0.5);

	ret->u_shift = pairs / 2 - u;
	ret->p_value = deviation > 0 ? erfc(distance / deviation / sqrt(2)) : 1;
	series_sort(all, nr_a, nr, rank);
	estimate(rank, nr_a, rank + nr_a, nr_b, deviation, ret);
	return 0;
}

struct numbered {
	double p_value;
	size_t at;
};

static int by_p_value(const void *a, const void *b)
{
	return order_double(((const struct numbered *)a)->p_value,
			    ((const struct numbered *)b)->p_value);
}

int rank_test_adjust(double *p_value, size_t nr)
{
	_cleanup_free_ struct numbered *all = malloc(nr * sizeof(*all) + 1);
	double least = 0;

	if (!all)
		return fail(-ENOMEM, "out of memory");
	for (size_t i = 0; i < nr; i++)
		all[i] = (struct numbered){p_value[i], i};
	if (nr)
		qsort(all, nr, sizeof(*all), by_p_value);
	for (size_t i = 0; i < nr; i++) {
		least = fmax(least, fmin(1, all[i].p_value * (double)(nr - i)));
		p_value[all[i].at] = least;
	}
	return 0;
}

/*
 * Do the means of two series of measurements differ? Each is cut into BATCHES consecutive batches, and the means of
 * these are compared by Welch's t-test. Dependence between neighbours is harmless if it is shorter than a batch. Unlike
 * ranks (rank_test.h), the test uses the size of the differences: two series that drift slowly, far apart from each
 * other, have only a few independent ranks, but means that are far apart compared with the drift.
 */

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
