// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds a state in the one table of colours. */
#include "output/palette.h"

#include <string.h>

const char *palette_fill(const char *state)
{
	static const struct {
		const char *state, *fill;
	} palette[] = {
#define STATE(name, fill) {name, fill},
#include "output/palette.def"
#undef STATE
	};
	const unsigned int last = sizeof(palette) / sizeof(*palette) - 1; /* unknown */
	unsigned int i = 0;

	while (i < last && strcmp(palette[i].state, state))
		i++;
	return palette[i].fill;
}
