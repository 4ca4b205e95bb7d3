/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks: lines "outermost;...;innermost COUNT", as flamegraph.pl and speedscope read them. */
#ifndef HOSTRACE_OUTPUT_FOLDED_H
#define HOSTRACE_OUTPUT_FOLDED_H

#include <stdio.h>

/* A frame's name, or a title that stands as one: without what separates frames and lines. */
static inline void folded_frame_put(const char *text, FILE *f)
{
	for (; *text; text++)
		fputc(*text == ';' || *text == '\n' ? ':' : *text, f);
}

#endif
