/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors: a function that can fail returns 0 or a negative errno. Where the facts are known, fail() sets the error
 * message; callers that cannot continue pass the errno up; src/commands/ prints the message once and decides the exit
 * status. The message belongs to the thread, as errno does.
 */
#ifndef HOSTRACE_ERROR_H
#define HOSTRACE_ERROR_H

#include <stdbool.h>

/* Sets the error message, replacing the last one, and returns err, which is a negative errno. */
int fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same for wrong usage of a command, which then exits with the status for that. */
int fail_usage(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Was the error message set by fail_usage()? */
bool error_is_usage(void);

/* The errno, negative, with which it was set; 0 if there is none. */
int error_code(void);

/* The error message; "" if there is none. Valid until the next fail() of this thread. */
const char *error_text(void);

/*
 * Adds to the error message the line that it is about, and where in it, in columns from 1. They are printed below the
 * message, with a mark. Returns err.
 */
int fail_at_column(int err, const char *line, unsigned int column);

/* That line; NULL: the message has none. Valid as error_text(). */
const char *error_line(unsigned int *ret_column);

/* Of several steps that are all taken, the first failure counts. */
static inline void error_keep_first(int *err, int next)
{
	*err = *err ? *err : next;
}

/* Appends what to do next to the error message: "; try: ...". Returns err. */
int fail_hint(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
