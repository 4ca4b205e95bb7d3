/* SPDX-License-Identifier: GPL-2.0-or-later */
/* System calls by number, as sched_block contains them. Included by both compilers. */
#ifndef HOSTRACE_SYSCALLS_H
#define HOSTRACE_SYSCALLS_H

#include <stdbool.h>

#include "record.h"

/* Does it wait for file descriptors and timers? A thread that sleeps in one is an event loop. */
static inline bool syscall_polls(hr_u64 number)
{
	switch (number) {
#if defined(__aarch64__) || defined(__TARGET_ARCH_arm64)
	case 22:  /* epoll_pwait */
	case 72:  /* pselect6 */
	case 73:  /* ppoll */
#else
	case 7:	  /* poll */
	case 23:  /* select */
	case 232: /* epoll_wait */
	case 270: /* pselect6 */
	case 271: /* ppoll */
	case 281: /* epoll_pwait */
#endif
	case 426: /* io_uring_enter */
	case 441: /* epoll_pwait2 */
		return true;
	}
	return false;
}

#endif
