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

/*
 * Defines a comparison of structs by members, the first of which counts most. They are unsigned, or not negative.
 *
 *	ORDER_BY(by_address, struct symbol, address, nr)
 */
#define ORDER_BY(name, type, ...)                                                                  \
	static int name(const void *a, const void *b)                                              \
	{                                                                                          \
		const type *x = a, *y = b;                                                         \
		return ORDER_PICK_(__VA_ARGS__, 5, 4, 3, 2, 1)(__VA_ARGS__);                       \
	}
#define ORDER_PICK_(m1, m2, m3, m4, m5, nr, ...) ORDER_##nr##_
#define ORDER_1_(m)	 order_u64(x->m, y->m)
#define ORDER_2_(m, ...) ORDER_1_(m) ?: ORDER_1_(__VA_ARGS__)
#define ORDER_3_(m, ...) ORDER_1_(m) ?: ORDER_2_(__VA_ARGS__)
#define ORDER_4_(m, ...) ORDER_1_(m) ?: ORDER_3_(__VA_ARGS__)
#define ORDER_5_(m, ...) ORDER_1_(m) ?: ORDER_4_(__VA_ARGS__)

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
