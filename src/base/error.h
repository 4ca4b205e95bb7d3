/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors: a function that can fail returns 0 or a negative errno. The spot that knows the facts writes one
 * sentence with fail(); whoever cannot go on hands the number up; src/commands/ prints the sentence once and
 * decides the exit status.
 */
#ifndef HOSTRACE_ERROR_H
#define HOSTRACE_ERROR_H

#include <stdbool.h>

/* Keeps the sentence (of this thread, newest wins) and returns err, which is a negative errno. */
int fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same where it is the user's words that are wrong: the command ends with the status for wrong usage. */
int fail_usage(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Was the newest sentence written by fail_usage()? */
bool error_is_usage(void);

/* The newest sentence; "" if none. Valid until the next fail() of this thread. */
const char *error_text(void);

/* Adds what to do next as a second sentence: "; try: ...". Returns err. */
int fail_hint(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
