/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel stack of a task that sleeps, unwound as the kernel does it for /proc/PID/stack
 * (arch/x86/kernel/unwind_orc.c): by the ORC tables of the image and the modules, by frame pointers where there are
 * none. The layout of their entries differs between releases; the guest's BTF has it. The stack is copied, and the copy
 * is only used if the task was not switched to meanwhile.
 */
#ifndef HOSTRACE_LINUX_STACK_H
#define HOSTRACE_LINUX_STACK_H

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"

enum {
	LINUX_FRAMES_MAX = 64, /* as /proc/PID/stack */
	LINUX_STACK_BYTES_MAX = 64 << 10, /* THREAD_SIZE is 16 KiB, 32 KiB with KASAN */
};

enum linux_stack_state {
	LINUX_STACK_COMPLETE,
	LINUX_STACK_INCOMPLETE, /* code without ORC or frame pointers; it is damaged, or longer */
	LINUX_STACK_RUNNING,	/* the task is on a CPU */
	LINUX_STACK_CHANGING,	/* the task ran whenever it was read */
	LINUX_STACK_NONE,	/* it has ended, or cannot be read */
};

struct linux_stack {
	enum linux_stack_state state;
	uint64_t frame[LINUX_FRAMES_MAX]; /* return addresses, innermost first, without those of the scheduler */
	unsigned int nr;
};

struct linux_unwinder;

/* types are borrowed. 0, or with the error message set: -ENOENT: the BTF lacks a type; -ENOMEM. */
int linux_unwinder_open(struct linux_guest *g, const struct btf_types *types,
			struct linux_unwinder **ret);
void linux_unwinder_close(struct linux_unwinder *u);

/* task: address of its struct task_struct */
void linux_stack_read(struct linux_unwinder *u, uint64_t task, struct linux_stack *ret);

/* "complete" */
const char *linux_stack_state_name(enum linux_stack_state state);

/* "do_wait+0x114", "virtblk_done+0x20 [virtio_blk]", or the address where no symbol is before it. Returns buf. */
const char *linux_frame_print(const struct linux_unwinder *u, uint64_t address, char *buf,
			      size_t size);

#endif
