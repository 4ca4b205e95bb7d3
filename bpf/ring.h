/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How BPF passes records to the collector: one ring per CPU, in shared memory. Also the settings of a VM that the
 * collector passes to BPF. Included by both compilers.
 *
 *   0         64       128                         4096                    4096 + ring_bytes
 *   +---------+--------+---------------------------+-----------------------+-----------------+
 *   | head,   | tail   | lost[] by event type      | slots                 | spill           |
 *   | caches  |        |                           |                       |                 |
 *   +---------+--------+---------------------------+-----------------------+-----------------+
 *     by BPF    by reader by BPF
 *
 * A slot is a mark (8 bytes) and a record. Positions only grow; position p is at p & (ring_bytes - 1). A slot
 * that begins before the end of the ring continues into the spill, so that no record is split.
 *
 * BPF reserves with an atomic add to head (a program may be interrupted by another one on its CPU, or preempted if
 * it is a user probe), fills the record, and last writes the mark: p + the recording's secret. The reader continues
 * as long as it finds the mark it expects. Data of an earlier lap cannot be mistaken for one, because the secret is
 * not known to the guest or QEMU.
 *
 * Why not BPF_MAP_TYPE_RINGBUF: its reserve and commit acquire a lock and decide whether to wake the reader, and a
 * wake-up before a VM-entry makes the guest exit at once. Here BPF never wakes the reader, which polls.
 */
#ifndef HOSTRACE_RING_H
#define HOSTRACE_RING_H

#include "record.h"

enum {
	RING_HEAD_BYTES = 4096, /* struct ring_head, padded to a page */
	RING_SPILL_BYTES = 4096,
	RING_RESERVE_BYTES = 65536, /* kept free for programs between their check and their add */
	RING_MARK_BYTES = 8,
};

/*
 * Events that the user names (record -e SUBSYSTEM:EVENT) have numbers of their own in the rings, by their order. They
 * are those of the trace file, which numbers types that are not in events.def from there on.
 */
enum {
	ANY_FIRST = RECORD_DECLARED_FIRST,
	ANY_MAX = 192,
	RING_TYPES = ANY_FIRST + ANY_MAX,
	ANY_DYN_MAX = 4,      /* dynamic texts of one event that are recorded */
	ANY_ARGS_MAX = 16,    /* values of one probe */
	ANY_BYTES_MAX = 2048, /* of one record; longer ones are lost */
	ANY_TESTS_MAX = 32,   /* comparisons of one event's filter */
	ANY_TEST_TRUE = 0xff, /* where a comparison goes on: the filter holds */
	ANY_TEST_FALSE = 0xfe, /* it does not */
};

struct ring_head {
	/* written by BPF on this CPU */
	hr_u64 head;
	hr_u64 vcpu_node; /* newest vCPU seen on this CPU: its preempt notifier, its thread, its index */
	hr_u32 vcpu_tid;
	hr_u16 vcpu_index;
	hr_u16 pad0;
	hr_u64 pad1[5];

	/* written by the reader */
	hr_u64 tail;
	hr_u64 pad2[7];

	/* written by BPF: records that found the ring full */
	hr_u64 lost[RING_TYPES];
};

_Static_assert(sizeof(struct ring_head) <= RING_HEAD_BYTES, "the head fits its page");

enum {
	VMS_MAX = 1024,		/* VMs of one recording */
	FOLLOWED_MAX = 16384,	/* processes that are followed at a time: see follow.bpf.c */
	FOLLOW_RING_BYTES = 1 << 18,
};

/* What sched_holder and sched_stack are in the ring: the collector unwinds it, and makes the event of it. */
enum { STACK_STEP_BYTES = 512, STACK_STEPS = 6 };

struct stack_copy {
	struct record_hdr hdr;
	hr_u64 rip, rsp, rbp, rbx, r12_r15[4]; /* in user mode */
	hr_u32 sampled; /* as in the event */
	hr_u32 bytes;	/* of the stack, from rsp on */
	hr_u8 stack[STACK_STEP_BYTES * STACK_STEPS];
};

_Static_assert(sizeof(struct stack_copy) + RING_MARK_BYTES <= RING_SPILL_BYTES,
	       "a copied stack fits the spill");

/* Which processes of a command that is recorded are followed, and what is recorded of them. */
enum follow {
	FOLLOW_NONE,	/* a VM: all its events; its children are not followed */
	FOLLOW_QEMU,	/* becomes a VM, or forks it (-daemonize): all its events; children are followed */
	FOLLOW_WRAPPER, /* starts a VM: only KVM events, should it become one; children are followed */
};

/* Per VM, keyed by process id: the offsets of QEMU's data (struct qemu_layout in src/collector/plan.h). */
struct vm_settings {
	hr_u64 address_space_io; /* address of QEMU's variable; 0: unknown */
	hr_u64 global_mutex;	 /* the same: a pthread_mutex_t */
	hr_u32 vq_vdev, vq_queue, vdev_path, vq_host_notifier;
	hr_u32 elem_head, elem_ndescs, elem_out, elem_in;
	hr_u32 follow; /* enum follow */
	hr_u32 guest_kernel; /* number in guest_kernels + 1; 0: none */
	hr_u32 heap;	     /* number in heap_vms + 1; 0: its heap is not followed */
	hr_u32 pad;
};

/* Where a probe's value comes from: a word of the stack at a function's entry is ANY_STACK + its number from 1 on. */
enum any_source {
	ANY_ARG, /* the first argument in a register; the others follow */
	ANY_RET = ANY_ARG + 6,
	ANY_REGS = 8, /* above them, a power of two */
	ANY_STACK = ANY_REGS,
	ANY_TRAMPOLINE_RET = 0xff, /* fexit: which has arguments by their numbers */
};

enum any_test_flags {
	ANY_TEST_SIGNED = 1,
	ANY_TEST_GREATER = 2, /* value > what; else value == what */
};

/*
 * A comparison of a filter (record --filter): of a number of `size` bytes, which is shifted to the highest bits, so
 * that what is above it does not count. Of a signed one the sign is inverted, so that it compares as an unsigned one.
 */
struct any_test {
	hr_u64 what;	/* shifted and inverted as the value is */
	hr_u16 at;	/* offset in the kernel's entry; of a probe the number of the value */
	hr_u8 size;	/* 1, 2, 4 or 8 */
	hr_u8 flags;	/* enum any_test_flags */
	hr_u8 yes, no;	/* where to go on: a comparison with a higher number, ANY_TEST_TRUE or ANY_TEST_FALSE */
	hr_u16 pad;
};

/* The number that is to be compared: in the first bytes of `word`. */
static inline hr_u32 any_test_next(const struct any_test *t, hr_u64 word)
{
	word <<= (64 - 8 * t->size) & 63;
	if (t->flags & ANY_TEST_SIGNED)
		word ^= 1ull << 63;
	return (t->flags & ANY_TEST_GREATER ? word > t->what : word == t->what) ? t->yes : t->no;
}

/* Of an event that the user names: how its record is made of the kernel's entry, or of a probe's values. */
struct any_settings {
	hr_u32 bytes; /* of the record without dynamic texts; a multiple of 8 */
	hr_u16 dyn[ANY_DYN_MAX]; /* offsets of their words in the kernel's entry; 0: no more */
	hr_u8 relative[ANY_DYN_MAX]; /* 1: it counts from its own end */
	hr_u8 source[ANY_ARGS_MAX];  /* of a probe: enum any_source, or the number of the argument */
	hr_u32 nr;		     /* ... of them that are recorded, 8 bytes each */
	hr_u32 nr_tests;	     /* 0: all events are recorded */
	struct any_test test[ANY_TESTS_MAX];
};

/* A followed process was forked by `parent`, or (parent 0) executes another program. */
struct process_change {
	hr_u64 time; /* CLOCK_MONOTONIC, ns */
	hr_u32 pid, parent;
};

#endif
