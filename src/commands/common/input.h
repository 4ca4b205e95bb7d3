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

/* --where, of commands that have rows or events to select. */
extern const struct option_row where_rows[];

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
 * The options as they would be typed: "-i web.hrt", "--since 1s --vcpu 0,1"; "" if none was given, or only the default
 * file. Sanitized. Allocated; NULL: no memory.
 */
char *input_line_files(void);
char *input_line_filters(void);

/* All of them but times, and --no-guest, which most commands refuse. */
char *input_line_without_times(void);

/*
 * The input set of the options, not yet opened. with_guests: the command looks at guests' events, so companion files
 * are merged and this is noted. 0 or -errno with the error message set.
 */
int input_make(bool with_guests, struct input_set **ret);

#endif
