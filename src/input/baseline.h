/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Baselines: recordings that are kept under a name, the runs of one state of a system, to compare later ones with. They
 * are files in $XDG_STATE_HOME/hostrace/baselines/NAME, or below ~/.local/state: 001.hrt, 002.hrt, ..., and next to
 * each the guests' traces of `record --guest` under the names that companion files have.
 */
#ifndef HOSTRACE_BASELINE_H
#define HOSTRACE_BASELINE_H

#include <limits.h>
#include <stdbool.h>

enum { BASELINE_NAME_MAX = 64, BASELINE_RUNS_MAX = 32 }; /* runs have numbers from 1 to that */

/*
 * Is it a name: letters, digits, '.', '_', '-', the first a letter or digit, and no word of `diff` ("now", "vs")? Else
 * -EINVAL with the error message set.
 */
int baseline_name_check(const char *name);

/* The folder of a baseline; name NULL: of all. -ENOENT with the error message set: there is no $HOME. */
int baseline_folder(const char *name, char path[PATH_MAX]);

/* The recording of a run, which counts from 1. As baseline_folder(). */
int baseline_run(const char *name, unsigned int run, char path[PATH_MAX]);

/* The numbers of its runs, in their order, which may have gaps. Returns how many there are; 0: no such baseline. */
unsigned int baseline_runs(const char *name, unsigned int number[BASELINE_RUNS_MAX]);

#endif
