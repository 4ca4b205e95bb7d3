// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"

/*
 * printf rounds the exact binary value. Scaling by a power of ten errs by less than 2^-50 of the value, so wherever the
 * scaled value is further than that from the middle between two integers, the nearest one is the right one.
 */
const char *decimal_print(double v, unsigned int decimals, char *buf, size_t size)
{
	static const double scales[] = {1, 10, 100, 1000, 10000, 100000, 1000000};
	double scaled = v * scales[decimals], down, rest;
	char *p = buf + 31;
	uint64_t n;

	if (!(scaled >= 0 && scaled < 1e12) || size < 32)
		goto rare;
	n = (uint64_t)scaled;
	down = (double)n;
	rest = scaled - down;
	if (rest > 0.499 && rest < 0.501)
		goto rare;
	n += rest > 0.5;
	*p = '\0';
	for (unsigned int i = 0; i < decimals; i++, n /= 10)
		*--p = (char)('0' + n % 10);
	if (decimals)
		*--p = '.';
	do
		*--p = (char)('0' + n % 10);
	while (n /= 10);
	return p;
rare:
	snprintf(buf, size, "%.*f", (int)decimals, v);
	return buf;
}

/* The `digits` lowest digits of n. */
static char *put_digits(char *p, uint32_t n, unsigned int digits)
{
	for (unsigned int i = digits; i-- > 0; n /= 10)
		p[i] = (char)('0' + n % 10);
	return p + digits;
}

/*
 * Six digits of a number from 0.0001 to a million, exactly: the value is an integer of 53 bits by a power of two, so
 * that its product with a power of ten fits into 128 bits, and the dropped bits decide how to round. *ret_decimals
 * of them follow the decimal point.
 */
static uint32_t six_digits(double v, unsigned int *ret_decimals)
{
	static const double limits[] = {1e5, 1e4, 1e3, 1e2, 1e1, 1, 1e-1, 1e-2, 1e-3};
	static const uint32_t powers[] = {1, 10, 100, 1000, 10000, 100000,
					  1000000, 10000000, 100000000, 1000000000};
	unsigned int decimals = 0, shift;
	uint64_t bits;

	while (decimals < 9 && v < limits[decimals])
		decimals++;
	memcpy(&bits, &v, sizeof(bits));
	shift = 1075 - (unsigned int)(bits >> 52);
	unsigned __int128 exact =
		(unsigned __int128)((bits & ~0ull >> 12) | 1ull << 52) * powers[decimals];
	unsigned __int128 half = (unsigned __int128)1 << (shift - 1),
			  dropped = exact & (half | (half - 1));
	uint32_t n = (uint32_t)(exact >> shift);

	*ret_decimals = decimals;
	return n + (dropped > half || (dropped == half && n % 2));
}

char *decimal_put_general(char *p, double v)
{
	unsigned int decimals;
	uint32_t n, scale = 1, whole;

	if (!(v >= 1e-4 && v < 999999))
		return v == 0 && 1 / v > 0 ? (*p = '0', p + 1) : p + sprintf(p, "%g", v);
	n = six_digits(v, &decimals);
	for (; decimals && n % 10 == 0; decimals--)
		n /= 10;
	for (unsigned int i = 0; i < decimals && i < 6; i++)
		scale *= 10;
	whole = decimals > 6 ? 0 : n / scale;
	for (scale = 1; scale <= whole / 10; scale *= 10)
		;
	for (; scale; scale /= 10)
		*p++ = (char)('0' + whole / scale % 10);
	if (!decimals)
		return p;
	*p++ = '.';
	return put_digits(p, n, decimals);
}
