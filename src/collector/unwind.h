/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks of a process's threads from copies of their stacks (struct stack_copy), by the .eh_frame of its
 * executable and libraries (libdwfl).
 */
#ifndef HOSTRACE_UNWIND_H
#define HOSTRACE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "ring.h"

struct unwinder;

/* NULL: not possible; the error message says why. */
struct unwinder *unwinder_open(pid_t pid);
/* Is this address in a file that was mapped when it was opened? */
bool unwinder_knows(const struct unwinder *s, uint64_t address);

void unwinder_close(struct unwinder *s);

enum { STACK_FRAMES_MAX = 32 };

/*
 * Function names, innermost first, separated by ';'; "FILE+0xOFFSET" where a file has no symbol for it. Returns how
 * many frames were found, also those that `buf` is too small for.
 */
unsigned int unwinder_print(struct unwinder *s, const struct stack_copy *copy, char *buf,
			    size_t size);

#endif
