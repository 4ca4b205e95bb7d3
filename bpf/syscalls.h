/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls by number, as events contain them: those of x86-64, or those of arm64 (asm-generic/unistd.h) with a bit
 * that tells them apart. Included by both compilers.
 */
#ifndef HOSTRACE_SYSCALLS_H
#define HOSTRACE_SYSCALLS_H

#include <stdbool.h>

#include "record.h"

enum { SYSCALL_GENERIC = 1 << 24 };

static inline bool syscall_is_ioctl(hr_u64 number)
{
	return number == 16 || number == (SYSCALL_GENERIC | 29);
}

static inline bool syscall_is_futex(hr_u64 number)
{
	return number == 202 || number == (SYSCALL_GENERIC | 98);
}

/* clone, clone3 */
static inline bool syscall_is_clone(hr_u64 number)
{
	return number == 56 || number == 435 || number == (SYSCALL_GENERIC | 220) ||
	       number == (SYSCALL_GENERIC | 435);
}

/* execve, execveat */
static inline bool syscall_is_exec(hr_u64 number)
{
	return number == 59 || number == 322 || number == (SYSCALL_GENERIC | 221) ||
	       number == (SYSCALL_GENERIC | 281);
}

/* Does it wait for file descriptors and timers? A thread that sleeps in one is an event loop. */
static inline bool syscall_polls(hr_u64 number)
{
	switch (number) {
	case 7:	  /* poll */
	case 23:  /* select */
	case 232: /* epoll_wait */
	case 270: /* pselect6 */
	case 271: /* ppoll */
	case 281: /* epoll_pwait */
	case 426: /* io_uring_enter */
	case 441: /* epoll_pwait2 */
	case SYSCALL_GENERIC | 22:  /* epoll_pwait */
	case SYSCALL_GENERIC | 72:  /* pselect6 */
	case SYSCALL_GENERIC | 73:  /* ppoll */
	case SYSCALL_GENERIC | 426: /* io_uring_enter */
	case SYSCALL_GENERIC | 441: /* epoll_pwait2 */
		return true;
	}
	return false;
}

#endif
