/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --diff A B of the commands that print folded stacks. */
#ifndef HOSTRACE_COMMANDS_FOLDED_DIFF_RUN_H
#define HOSTRACE_COMMANDS_FOLDED_DIFF_RUN_H

#include <stdio.h>

#include "base/options.h"

/* --diff, and whether it was given. */
extern const struct option_row folded_diff_options[];
extern bool folded_diff_given;

/*
 * Writes the stacks of both files with both counts: fold() is called for each, which is the only input then, and writes
 * its folded stacks, whose counts are times in ns, or samples. Returns the exit status.
 */
int folded_diff_run(int argc, char **argv, int (*fold)(void *arg, FILE *out), void *arg,
		    bool times);

#endif
