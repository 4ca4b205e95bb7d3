// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "base/clock.h"
#include "exporter/buckets.h"

enum { PER_OCTAVE = 1 << EXPORT_NATIVE_SCHEMA };

unsigned int export_native_of(uint64_t ns)
{
	static const double roots[PER_OCTAVE] = {
		/* 2^(i / 8) */
		1.0,
		1.0905077326652577,
		1.189207115002721,
		1.2968395546510096,
		1.4142135623730951,
		1.5422108254079407,
		1.681792830507429,
		1.8340080864093424,
	};
	int order, index, i = 0;
	double part = 2 * frexp((double)ns / NS_PER_S, &order); /* 1 to 2 */

	if (!ns)
		return 0;
	while (i < PER_OCTAVE && part > roots[i])
		i++;
	index = (order - 1) * PER_OCTAVE + i;
	index = index < EXPORT_NATIVE_LAST ? index : EXPORT_NATIVE_LAST;
	return (unsigned int)(index - EXPORT_NATIVE_FIRST) + 1;
}
