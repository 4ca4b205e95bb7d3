/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Results of comparisons for qsort(): negative, 0 or positive. A comparison must be a total order, and give 0 only for
 * elements that need not be distinguished: qsort() may use any order for these. tests/run-cases.sh --sort checks both.
 * Never x - y, which overflows.
 */
#ifndef HOSTRACE_BASE_ORDER_H
#define HOSTRACE_BASE_ORDER_H

#include <math.h>
#include <stdint.h>

static inline int order_u64(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

/* For qsort() of an array of uint64_t. */
static inline int order_numbers(const void *a, const void *b)
{
	return order_u64(*(const uint64_t *)a, *(const uint64_t *)b);
}

/* NaN is after all numbers. */
static inline int order_double(double x, double y)
{
	return isnan(x) || isnan(y) ? !!isnan(x) - !!isnan(y) : (x > y) - (x < y);
}

#endif
