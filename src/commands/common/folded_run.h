/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile as stacks: folded, as a flame graph (-f svg) or for pprof; and with --diff A B, of two recordings with both
 * counts, or as a flame graph of what changed.
 */
#ifndef HOSTRACE_COMMANDS_FOLDED_RUN_H
#define HOSTRACE_COMMANDS_FOLDED_RUN_H

#include <stdio.h>

#include "base/options.h"
#include "input/input_set.h"
#include "output/output.h"

/* --diff, and whether it was given. */
extern const struct option_row folded_diff_options[];
extern bool folded_diff_given;

struct folded {
	int (*fold)(void *arg, FILE *out); /* writes lines "outermost;...;innermost COUNT" */
	void *arg;
	const char *title; /* of the picture */
	bool times;	   /* counts are times in ns, not samples */
};

/*
 * Writes them in out->format. `in` was read to its end; NULL: `file` is an OSv trace. *ret_nr: 0 if there are none.
 * 0 or -errno with the error message set.
 */
int folded_write(const struct folded *f, const struct input_set *in, const char *file,
		 const struct output *out, uint64_t *ret_nr);

/* --diff: fold() is called for each of two files, which is the only input then. Returns the exit status. */
int folded_diff_run(int argc, char **argv, const struct folded *f);

#endif
