/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The histograms of `hostrace stat`, `hostrace top` and `hostrace exporter`, in memory that BPF writes and the
 * collector reads. Included by both compilers.
 *
 *   per vCPU:  +------+-------------------+--------+--------+-----+-----------------+
 *              | head | cell of reason    | cell 0 | cell 1 | ... | last: all other |
 *              +------+-------------------+--------+--------+-----+-----------------+
 *
 * A vCPU runs in one thread at a time, so each vCPU's part has one writer and needs neither lock nor atomic. A reader
 * may see a count whose time is not yet added; after the programs are detached all numbers are exact.
 *
 * A cell's buckets: values below 256 have one each; above, each power of two is divided into 128, so that the middle of
 * a bucket differs from its values by at most 0.4 %.
 *
 * `hostrace top` also wants details: what the time of an exit went into, which ports were accessed, since when an
 * exit is open, and, if it is asked to, which tasks of a Linux guest caused the exits. `hostrace exporter` also wants
 * the accessed pages of MMIO, and which cgroups vCPUs wait for. `stat` leaves these zero.
 */
#ifndef HOSTRACE_STATMAP_H
#define HOSTRACE_STATMAP_H

#include "guest_task.h"
#include "record.h"

enum {
	STAT_SUB_BITS = 7,
	STAT_SUB = 1 << STAT_SUB_BITS,
	STAT_BITS_MAX = 40, /* 18 minutes; longer ones share the last bucket */
	STAT_BUCKETS = (STAT_BITS_MAX - STAT_SUB_BITS + 1) * STAT_SUB,
	STAT_KEYS = 512,     /* see stat_key() */
	STAT_CELLS_MAX = 32, /* reasons of a vCPU, the last cell included */
	STAT_CELLS_MIN = 12,
	STAT_PORT_SLOTS = 256,		  /* ports of a vCPU */
	STAT_PORTS = STAT_PORT_SLOTS + 1, /* in the last one all other ports */
	STAT_PAGE_SLOTS = 64,		  /* pages of MMIO of a vCPU */
	STAT_PAGES = STAT_PAGE_SLOTS + 1,
	STAT_PAGE_SHIFT = 12,
	STAT_STEAL_SLOTS = 32, /* cgroups that a vCPU waits for */
	STAT_STEALS = STAT_STEAL_SLOTS + 1,
	STAT_PREEMPTOR_SLOTS = 64, /* names of tasks that ran while a vCPU waited */
	STAT_TRIES = 8, /* slots in a row in which a port, page, cgroup or task is looked for */
	STAT_TASK_SLOTS = 64,		     /* guest tasks of a vCPU that are counted one by one */
	STAT_TASK_UNKNOWN = STAT_TASK_SLOTS, /* this slot: exits of no known task */
	STAT_TASKS,
	STAT_VMS_MAX = 1024,
	STAT_STRANGERS = 64,
	STAT_CELLS_ALL = 1024, /* of all vCPUs together, 35 MB; many vCPUs share fewer each */
};

/* What the time of an exit goes into. */
enum stat_cause {
	STAT_IN_KERNEL,
	STAT_IN_VMM,
	STAT_ASLEEP_IN_KERNEL, /* the guest halted, or a page is waited for */
	STAT_ASLEEP_IN_VMM,    /* a lock or a device is waited for */
	STAT_PREEMPTED,	       /* runnable, without a CPU */
	STAT_CAUSES,
};

/* Whether a vCPU's thread can go on by itself. */
enum stat_still {
	STAT_MOVES,
	STAT_STOPPED, /* by a signal, a debugger or a freezer */
	STAT_PAUSED,  /* it waits in the VMM until it may enter KVM_RUN again */
	STAT_STILLS,
};

struct stat_cell {
	hr_u64 count, total_ns, min_ns, max_ns;
	hr_u64 userspace; /* exits handled by the VMM */
	hr_u64 cause_ns[STAT_CAUSES];
	hr_u32 reason;
	hr_u32 pad;
	hr_u64 bucket[STAT_BUCKETS];
};

enum { STAT_PORT_OUT = 1 << 16, STAT_PORT_USED = 1 << 17 };

struct stat_port {
	hr_u32 key; /* STAT_PORT_USED, STAT_PORT_OUT, the port; 0: not in use */
	hr_u32 pad;
	hr_u64 count;	 /* accesses; each of a string instruction counts */
	hr_u64 total_ns; /* of exits with such an access; only from kvm_exit to kvm_entry */
};

/* Added to the guest physical address of a page; 0: not in use. */
enum { STAT_PAGE_WRITE = 1, STAT_PAGE_USED = 2 };

struct stat_page {
	hr_u64 key;
	hr_u64 count; /* accesses; of pieces of at most eight bytes */
};

/* How long the vCPU waited for a CPU that a task of this cgroup had. */
struct stat_steal {
	hr_u64 key; /* the cgroup's number in the hierarchy of version 2, or 0 for an idle CPU, + 1; 0: not in use */
	hr_u64 ns;
};

struct stat_task_name {
	hr_u64 comm[2]; /* as text, filled up with zeros */
	hr_u32 pid;	/* its process, if that is a VM or hostrace; 0: another one */
	hr_u32 pad;
};

/*
 * How long tasks with this name ran on the CPU that the vCPU waited for. A slot is given to another name when it is
 * needed, and counts from 0 again; `begun` is odd while that happens.
 */
struct stat_preemptor {
	struct stat_task_name name;
	hr_u32 tid; /* the last of them; 0: the CPU was idle */
	hr_u32 begun;
	hr_u64 ns;
	hr_u64 last_ns; /* when it was last counted; 0: not in use */
};

/*
 * A guest's task. A slot is given to another task when it is needed; what the one before had counted is then added to
 * stat_vcpu.left. `begun` is odd while that happens.
 */
struct stat_task {
	hr_u32 key; /* thread id + 1; 0: none yet */
	hr_u32 begun;
	char comm[GUEST_COMM_MAX];
	hr_u64 count, total_ns; /* exits that ended */
	hr_u64 last_ns;		/* end of the last one */
};

/* Of tasks that have lost their slots. */
struct stat_tasks_left {
	hr_u64 count, total_ns;
};

struct stat_vcpu {
	hr_u64 left_ns; /* start of the exit that is open; written before `open` */
	hr_u32 reason;
	hr_u32 tid; /* thread that runs the vCPU */
	hr_u8 open;
	hr_u8 userspace; /* the open exit reached the VMM */
	hr_u16 nr_cells; /* in use, not counting the last one */
	hr_u32 pad;
	hr_u8 cell_of[STAT_KEYS]; /* index + 1; 0: none yet */

	/* details */
	hr_u64 mark_ns;		      /* since when the thread is in this phase */
	hr_u64 cause_ns[STAT_CAUSES]; /* of the open exit, up to mark_ns */
	hr_u8 phase;		      /* enum stat_cause */
	hr_u8 resumes; /* the phase after STAT_ASLEEP_IN_KERNEL, STAT_ASLEEP_IN_VMM and STAT_PREEMPTED */
	hr_u16 in_port;	 /* index + 1: the open exit accessed it */
	hr_u16 task_now; /* index + 1: the task of the last exit, which is that of the open one */
	hr_u16 pad2;
	struct stat_port port[STAT_PORTS];
	struct stat_page page[STAT_PAGES];
	struct stat_steal steal[STAT_STEALS];
	hr_u64 still_ns[STAT_STILLS];  /* up to still_since_ns; STAT_MOVES: not counted */
	hr_u64 still_since_ns;	       /* written before `still` */
	hr_u8 still;		       /* enum stat_still */
	hr_u8 pad3[7];
	hr_u64 ready_ns; /* since when the thread waits for a CPU; 0: it does not */
	struct stat_preemptor preemptor[STAT_PREEMPTOR_SLOTS];
	struct stat_task task[STAT_TASKS];
	struct stat_tasks_left left;
};

/* The vCPUs of a VM in the array. */
struct stat_vm {
	hr_u32 first, nr;
	hr_u32 guest_kernel; /* number in guest_kernels + 1; 0: none */
};

/* KVM_RUN failed: kvm_userspace_exit has the reason of an earlier exit. */
#define STAT_NO_REASON 0xfffffffe

static inline hr_u32 stat_user_reason(hr_u32 reason, int error)
{
	return error < 0 ? STAT_NO_REASON : reason;
}

/*
 * Reasons are small numbers with a few large exceptions (SVM's 0x400, failed entries). Two reasons with the same key
 * are distinguished by the cell's `reason`; the second one is counted in the last cell.
 */
static inline hr_u32 stat_key(hr_u32 reason)
{
	return (reason & 0xff) | (reason > 0xff) << 8;
}

#endif
