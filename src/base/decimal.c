// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdint.h>
#include <stdio.h>

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
