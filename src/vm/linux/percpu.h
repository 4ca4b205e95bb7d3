/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The CPUs of a Linux guest, and where each has its per-CPU variables. */
#ifndef HOSTRACE_LINUX_PERCPU_H
#define HOSTRACE_LINUX_PERCPU_H

#include "vm/linux/guest.h"

enum {
	LINUX_CPUS_MAX = 8192, /* NR_CPUS of x86 is at most so many */
};

/* Of all that the kernel was made for, started or not. At least 1. */
uint32_t linux_cpus_possible(struct linux_guest *g);

/*
 * What is to be added to the address of a per-CPU variable; offsets: address of __per_cpu_offset. False: this CPU was
 * never started, and has no variables of its own.
 */
bool linux_percpu_offset(struct linux_guest *g, uint64_t offsets, uint32_t cpu, uint64_t *ret);

struct linux_cpus {
	uint32_t *cpu; /* owned */
	uint64_t *offset; /* owned */
	size_t nr;
};

/* The CPUs that are online. -ENOENT: none can be found; -ENOMEM; with the error message set. */
int linux_cpus_online(struct linux_guest *g, struct linux_cpus *ret);
void linux_cpus_deinit(struct linux_cpus *c);

#endif
