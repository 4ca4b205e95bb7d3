/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --diff A B of the commands that print folded stacks: both counts, or a flame graph of what changed. */
#ifndef HOSTRACE_COMMANDS_FOLDED_RUN_H
#define HOSTRACE_COMMANDS_FOLDED_RUN_H

#include "base/options.h"
#include "reports/folded.h"

/* --diff, and whether it was given. */
extern const struct option_row folded_diff_options[];
extern bool folded_diff_given;

/* --diff: fold() is called for each of two files, which is the only input then. Returns the exit status. */
int folded_diff_run(int argc, char **argv, const struct folded *f);

#endif
