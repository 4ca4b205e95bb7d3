/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as stacks: folded, as a flame graph (svg, flame) or for pprof. */
#ifndef HOSTRACE_REPORTS_FOLDED_H
#define HOSTRACE_REPORTS_FOLDED_H

#include <stdio.h>

#include "input/input_set.h"
#include "output/output.h"

struct folded {
	int (*fold)(void *arg, FILE *out); /* writes lines "outermost;...;innermost COUNT" */
	void *arg;
	const char *title; /* of the picture */
	bool times;	   /* counts are times in ns, not samples */
	bool bytes;	   /* counts are bytes */
};

/*
 * Writes them in out->format. `in` was read to its end; NULL: `file` is an OSv trace. *ret_nr: 0 if there are none.
 * 0 or -errno with the error message set.
 */
int folded_write(const struct folded *f, const struct input_set *in, const char *file,
		 const struct output *out, uint64_t *ret_nr);

/* The lines as text, which the caller frees. 0 or -errno with the error message set. */
int folded_text(const struct folded *f, char **ret);

#endif
