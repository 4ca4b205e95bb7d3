/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of the process (ulimit) that are too low to work with. */
#ifndef HOSTRACE_LIMITS_H
#define HOSTRACE_LIMITS_H

/* For at least so many descriptors: raises the soft limit to the hard one. -EMFILE with the error message set. */
int limits_files_raise(unsigned int min);

/* The same, only if the soft limit is lower than that. */
int limits_files_check(unsigned int min);

/*
 * What run() returns. If the stack may not grow to 1 MiB (ulimit -s), run() gets one of 8 MiB, as libraries (libdw)
 * overflow a small one; so do threads that are created later.
 */
int limits_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
