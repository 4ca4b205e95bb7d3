/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs a report command within another one, and returns its JSON: the sections of `hostrace report`. */
#ifndef HOSTRACE_COMMANDS_SECTION_H
#define HOSTRACE_COMMANDS_SECTION_H

#include <jansson.h>

/*
 * words: the command, its arguments and options, at most SECTION_WORDS_MAX; -f is json unless given. Inputs, the time
 * window and other options that the running command shares with it apply. Options are restored afterwards. *ret is a
 * new reference. 0, or -errno with the error message of the command, which is not printed; notes are not printed
 * either.
 */
enum { SECTION_WORDS_MAX = 12 };

int section_run(const char *const *words, json_t **ret);

/* The same of an answer that print() prints as the command `name` would: 0 or -errno with the error message set. */
int section_print(const char *name, int (*print)(void *arg, FILE *to), void *arg, json_t **ret);

#endif
