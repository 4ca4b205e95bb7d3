/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tasks of a Linux guest, by the offsets that its BTF has. */
#ifndef HOSTRACE_LINUX_TASKS_H
#define HOSTRACE_LINUX_TASKS_H

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"

enum {
	LINUX_TASKS_MAX = 1 << 20, /* processes and threads together */
	LINUX_COMM_MAX = 16,
};

struct linux_task {
	uint64_t address; /* of its struct task_struct */
	int32_t tid, pid, ppid; /* pid: of the process */
	char comm[LINUX_COMM_MAX + 1]; /* sanitized */
	char state; /* as in /proc/PID/stat; '?': unknown */
	uint32_t cpu; /* on which it runs, or ran last */
	bool kernel; /* a kernel thread */
};

/*
 * All tasks but the idle ones, processes in the order of their start, each followed by its threads. *ret is allocated.
 * 0, or with the error message set: -ENOENT: the kernel lacks a symbol or its BTF a type; -EAGAIN: the list kept
 * changing; what was read last is in *ret. Threads that ended meanwhile are left out and counted in g->torn.
 */
int linux_tasks_read(struct linux_guest *g, const struct btf_types *types, struct linux_task **ret,
		     size_t *ret_nr);

#endif
