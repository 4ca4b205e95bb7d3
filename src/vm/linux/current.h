/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where each CPU of a Linux guest has its current task: the same place from boot to reboot. */
#ifndef HOSTRACE_LINUX_CURRENT_H
#define HOSTRACE_LINUX_CURRENT_H

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"

enum {
	LINUX_TASK_BYTES_MAX = 1 << 20, /* offsets are below */
};

struct linux_cpu {
	uint32_t cpu, apic_id;
	uint64_t slot; /* of the pointer to its current task: address in the process */
};

struct linux_current {
	struct linux_cpu *cpu; /* those that have been started; owned */
	size_t nr;
	uint64_t direct; /* address of physical address 0 in the direct map */
	int tid_at, pid_at, comm_at; /* in struct task_struct */
	int cpu_at; /* the same: the CPU that it runs on; < 0: unknown */
};

/* 0, or with the error message set: -ENOENT: the kernel lacks a symbol or its BTF a type; -ENOMEM. */
int linux_current_find(struct linux_guest *g, const struct btf_types *types,
		       struct linux_current *ret);
void linux_current_deinit(struct linux_current *c);

#endif
