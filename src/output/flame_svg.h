/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A flame graph as a picture that a browser zooms and searches. */
#ifndef HOSTRACE_FLAME_SVG_H
#define HOSTRACE_FLAME_SVG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct flame_svg {
	const char *title, *about; /* about: of which file; NULL: none */
	bool times;		   /* counts are ns */
	bool diff;		   /* two counts: wide as the second, coloured by what changed */
};

/*
 * `folded`: lines "outermost;...;innermost COUNT [COUNT]", changed here. What would be narrower than a fraction of a
 * pixel is drawn together with its neighbours; what would make the picture larger than 1 MB is not drawn. Both are
 * counted in it. *ret_nr: lines with a count.
 * 0 or -ENOMEM with the error message set.
 */
int flame_svg_put(char *folded, const struct flame_svg *how, FILE *out, uint64_t *ret_nr);

#endif
