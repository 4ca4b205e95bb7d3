/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options of every command that reads traces (-i, --guest, --since, --vcpu, --event, ...), input sets opened from
 * them, and what every report prints about its inputs.
 */
#ifndef HOSTRACE_COMMANDS_INPUT_H
#define HOSTRACE_COMMANDS_INPUT_H

#include <jansson.h>

#include "input/input_set.h"

/* What the options gave. */
extern struct input_options input_given;
extern const struct option_row input_rows[];

/*
 * Makes inputs that are pipes readable: those of the options, and the command's bare arguments, in place
 * (input/spool.h). To be called before any of them is opened. 0 or -errno with the error message set.
 */
int input_spool_all(int argc, char **argv);

/*
 * Adds a command's bare arguments to the inputs, as if -i had been given for each. 0, or -EINVAL with the error
 * message set if there are more than `max` or --clock is invalid.
 */
int input_add_args(int argc, char **argv, int max);
void input_add_file(const char *path);

/*
 * May this be written? -EEXIST with the error message set if it is one of the files that the options name as inputs,
 * under whichever name. To be called before anything is opened for writing.
 */
int input_check_output(const char *path);

/*
 * The input set of the options, not yet opened. with_guests: the command looks at guests' events, so companion files
 * are merged and this is noted. 0 or -errno with the error message set.
 */
int input_make(bool with_guests, struct input_set **ret);

/* The same, opened; `wants` as in input_set_open(). *ret is the caller's, also on failure. */
int input_open(bool with_guests, bool (*wants)(const char *event, void *arg), void *arg,
	       struct input_set **ret);

/* What every report says of its inputs (reports/head.h), for the command being run. */
json_t *input_head(const struct input_set *set, const json_t *more);

void input_foot(const struct input_set *set, const json_t *more, FILE *out);

#endif
