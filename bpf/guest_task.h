/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a Linux guest's kernel has the current task of each CPU: what the recorder has found, and the BPF programs use
 * (guest_task.bpf.h). Included by both compilers. The numbers are the guest's; programs only use them to read the VMM's
 * own memory, without faulting.
 */
#ifndef HOSTRACE_GUEST_TASK_H
#define HOSTRACE_GUEST_TASK_H

#include "record.h"

enum {
	GUEST_CPUS_MAX = 512, /* APIC ids are below */
	GUEST_RANGES_MAX = 16,
	GUEST_COMM_MAX = 16,
};

/* Where the pointer to a CPU's current task is; the same from boot to reboot. */
struct guest_task_slot {
	hr_u64 at;  /* address in the VMM's process; 0: none */
	hr_u32 cpu; /* number of the CPU in the guest */
	hr_u32 pad;
};

/* Of RAM: guest physical addresses, and where the VMM's process has them. */
struct guest_range {
	hr_u64 guest, process, bytes; /* bytes 0: unused */
};

struct guest_kernel {
	/* written by the recorder */
	hr_u32 epoch; /* 0: not known; else how often it was found */
	hr_u32 tid_at, pid_at, comm_at; /* in struct task_struct */
	hr_s32 cpu_at; /* the same: number of the CPU that it runs on; -1: unknown */
	hr_u32 task_bytes; /* of a task_struct, up to the last of these */
	hr_u64 direct; /* guest address of physical address 0 in the direct map */
	hr_u64 image, delta; /* lowest address of the image; its addresses - physical ones */
	struct guest_range range[GUEST_RANGES_MAX];
	struct guest_task_slot slot[GUEST_CPUS_MAX]; /* by APIC id */

	/* written by BPF: the epoch in which the VM was reset */
	hr_u32 reset_epoch;
	hr_u32 pad1;
};

/* What is known of a task. */
struct guest_task {
	hr_u64 address; /* 0: nothing */
	hr_s32 tid, pid;
	char comm[GUEST_COMM_MAX];
};

/* What a thread that runs a vCPU remembers. */
struct guest_look {
	hr_u32 kernel; /* number in guest_kernels + 1, or GUEST_KERNEL_NONE; 0: not known yet */
	hr_u32 epoch;
	hr_u32 cpu; /* in the guest */
	hr_u32 pad;
	hr_u64 slot; /* of struct guest_task_slot; 0: none */
	hr_u64 looks;
	struct guest_task task; /* that was found last */
};

#endif
