/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values from files that may not fit: in C a double outside an integer's range, or NaN, converts to anything, and
 * memcpy() and others may not be called with NULL, even for 0 bytes.
 */
#ifndef HOSTRACE_BASE_SATURATE_H
#define HOSTRACE_BASE_SATURATE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The nearest value that the integer can have; NaN: 0. Rounds toward 0. */
static inline uint64_t uint64_of_double(double v)
{
	if (!(v > 0))
		return 0;
	return v >= 0x1p64 ? UINT64_MAX : (uint64_t)v;
}

static inline uint32_t uint32_of_double(double v)
{
	uint64_t u = uint64_of_double(v);

	return u > UINT32_MAX ? UINT32_MAX : (uint32_t)u;
}

static inline int64_t int64_of_double(double v)
{
	if (v >= 0x1p63)
		return INT64_MAX;
	if (v < -0x1p63)
		return INT64_MIN;
	return v == v ? (int64_t)v : 0;
}

static inline uint64_t add_saturated(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* memcpy() of an array that may be empty. */
static inline void copy_array(void *to, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(to, from, bytes);
}

#endif
