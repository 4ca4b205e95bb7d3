/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Limits of the process (ulimit) that are too low to work with. */
#ifndef HOSTRACE_LIMITS_H
#define HOSTRACE_LIMITS_H

#include <stddef.h>

/* For at least so many descriptors: raises the soft limit to the hard one. -EMFILE with the error message set. */
int limits_files_raise(unsigned int min);

/* The same, only if the soft limit is lower than that. */
int limits_files_check(unsigned int min);

/*
 * Can the process have so many MiB more of memory? -ENOMEM with the error message set: a limit (ulimit -v, -d) is too
 * low. Libraries report that as something else: that the kernel has no BTF, for one.
 */
int limits_memory_check(unsigned int mib);

/* The limit of this process that an error with this code may be due to, and how to raise it; "": none is set. */
const char *limits_of_error(int err, char *buf, size_t size);

/*
 * What run() returns. If the stack may not grow to 1 MiB (ulimit -s), run() gets one of 8 MiB, as libraries (libdw)
 * overflow a small one; so do threads that are created later.
 */
int limits_stack_run(int (*run)(int argc, char **argv), int argc, char **argv);

#endif
