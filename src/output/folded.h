/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks, lines "outermost;...;innermost COUNT" as flamegraph.pl and speedscope read them, and what is made of
 * them: a flame graph, a profile for pprof.
 */
#ifndef HOSTRACE_OUTPUT_FOLDED_H
#define HOSTRACE_OUTPUT_FOLDED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* A frame's name, or a title that stands as one: without what separates frames and lines. */
static inline void folded_frame_put(const char *text, FILE *f)
{
	for (; *text; text++)
		fputc(*text == ';' || *text == '\n' ? ':' : *text, f);
}

/* ---- a flame graph as a picture that a browser zooms and searches (flame_svg.c) ---- */

struct flame_svg {
	const char *title, *about; /* about: of which file; NULL: none */
	bool times;		   /* counts are ns */
	bool bytes;		   /* counts are bytes */
	bool diff;		   /* two counts: wide as the second, coloured by what changed */
};

/*
 * `folded`: lines "outermost;...;innermost COUNT [COUNT]", changed here. What would be narrower than a fraction of a
 * pixel is drawn together with its neighbours; what would make the picture larger than 1 MB is not drawn. Both are
 * counted in it. *ret_nr: lines with a count.
 * 0 or -ENOMEM with the error message set.
 */
int flame_svg_put(char *folded, const struct flame_svg *how, FILE *out, uint64_t *ret_nr);

/*
 * A profile (pprof.c) for `pprof` (https://github.com/google/pprof, proto/profile.proto), and for what else reads its
 * format, as speedscope. Not compressed, which its readers accept.
 */
struct pprof {
	bool times;	       /* counts are ns, not samples */
	bool bytes;	       /* counts are bytes */
	const char *about;     /* a comment in the profile: of which file */
	uint64_t realtime_ns;  /* when it begins, of CLOCK_REALTIME; 0: unknown */
	uint64_t duration_ns;
};

enum { PPROF_FRAMES_MAX = 1 << 20 };

/*
 * `folded`: lines "outermost;...;innermost COUNT", changed here. *ret_nr: lines with a count. 0; -E2BIG: more than
 * PPROF_FRAMES_MAX functions; -ENOMEM; with the error message set.
 */
int pprof_put(char *folded, const struct pprof *how, FILE *out, uint64_t *ret_nr);

#endif
