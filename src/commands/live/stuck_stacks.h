/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call stacks of the VM's threads in user mode, for `hostrace stuck`. */
#ifndef HOSTRACE_STUCK_STACKS_H
#define HOSTRACE_STUCK_STACKS_H

#include "analyzers/stuck/stuck.h"
#include "collector/unwind.h"

/*
 * Sets user_stack of all threads that do not run. Registers other than the stack and instruction pointers are not known
 * without stopping the thread: a stack ends where a function needs one. That there is none is not an error.
 */
void stuck_stacks_read(struct unwinder *u, const struct memory *m, struct stuck_look *l);

#endif
