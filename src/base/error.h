/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Errors: a function that can fail returns 0 or a negative errno. The spot that knows the facts writes one
 * sentence with fail(); whoever cannot go on hands the number up; src/commands/ prints the sentence once and
 * decides the exit status.
 */
#ifndef HOSTRACE_ERROR_H
#define HOSTRACE_ERROR_H

/* Keeps the sentence (of this thread, newest wins) and returns err, which is a negative errno. */
int fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The newest sentence; "" if none. Valid until the next fail() of this thread. */
const char *error_text(void);

/* Adds what to do next as a second sentence: "; try: ...". Returns err. */
int fail_hint(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
