/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is read of a running Linux guest: tasks, kernel log, stacks, interrupts, virtqueues, its clock. Each by the
 * offsets of the guest's BTF, in the file of its name.
 */
#ifndef HOSTRACE_LINUX_LISTS_H
#define HOSTRACE_LINUX_LISTS_H

#include "vm/linux/guest.h"
#include "vm/virtq_state.h"

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
 * changing; what was read last is in *ret. Threads that ended meanwhile are left out and counted in g->torn, as is
 * each place where a task is beyond its first.
 */
int linux_tasks_read(struct linux_guest *g, const struct btf_types *types, struct linux_task **ret,
		     size_t *ret_nr);

/* The kernel log of a Linux guest, 5.10 and later (kernel/printk/printk_ringbuffer.c), by the offsets in its BTF. */

enum {
	LINUX_LOG_RECORDS_BITS = 20, /* at most 1 << */
	LINUX_LOG_BYTES_BITS = 26,   /* of all texts: at most 1 << */
	LINUX_LOG_TABLE_MAX = 128 << 20, /* bytes of all descriptors; of all infos */
};

struct linux_log_record {
	uint64_t time_ns; /* since the guest booted */
	unsigned int level, facility; /* as syslog(3) */
	size_t text; /* in struct linux_log */
};

struct linux_log {
	struct linux_log_record *record; /* oldest first */
	size_t nr;
	char *text; /* C strings, as the guest wrote them; not sanitized */
	size_t text_bytes;
};

/*
 * -ENOENT: the kernel lacks a symbol or a type; -EFAULT: its ring buffer cannot be read or is inconsistent; -ENOMEM;
 * with the error message set. Records that were overwritten while they were read are counted in g->torn. *ret is the
 * caller's, also on failure.
 */
int linux_log_read(struct linux_guest *g, const struct btf_types *types, struct linux_log *ret);
void linux_log_deinit(struct linux_log *l);

/*
 * The kernel stack of a task that sleeps, unwound as the kernel does it for /proc/PID/stack
 * (arch/x86/kernel/unwind_orc.c): by the ORC tables of the image and the modules, by frame pointers where there are
 * none. The layout of their entries differs between releases; the guest's BTF has it. The stack is copied, and the copy
 * is only used if the task was not switched to meanwhile.
 */

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

/* arch/x86/include/asm/orc_types.h: the same in all releases */
enum orc_reg {
	ORC_REG_UNDEFINED = 0,
	ORC_PREV_SP = 1,
	ORC_BP = 4,
	ORC_SP = 5,
	ORC_BP_INDIRECT = 8,
	ORC_SP_INDIRECT = 9,
};

enum orc_type { ORC_UNDEFINED, ORC_END, ORC_CALL, ORC_REGS, ORC_REGS_PARTIAL };

/* Sorted by address; each table has `nr` entries. */
struct orc_table {
	uint64_t ip, entry; /* addresses of its two parts */
	uint32_t nr;
	uint64_t first; /* address of code; the kernel's table begins with it */
};

struct orc_field {
	int bit, bits;
};

struct orc {
	struct linux_guest *g; /* borrowed */
	struct orc_table *table; /* of the image, then of modules; none: frame pointers; owned */
	size_t nr;
	int entry_bytes, sp_offset, bp_offset;
	struct orc_field sp_reg, bp_reg, type, signal, end;
};

/* What a Linux guest's /proc/interrupts has, by the offsets in its BTF. */

enum {
	LINUX_IRQS_MAX = 1 << 16, /* each needs 1 KiB; thousands are usual */
	LINUX_IRQ_NODES_MAX = 1 << 16, /* of the tree */
};

enum {
	LINUX_IRQ_COUNTS_MAX = 4 << 20, /* interrupts times CPUs */
	LINUX_IRQ_ACTIONS_MAX = 64,	/* of one interrupt */
	LINUX_IRQ_LABEL_MAX = 16,
	LINUX_IRQ_NAME_MAX = 64,
	LINUX_IRQ_ACTIONS_BYTES = 512,
};

struct linux_interrupt {
	char label[LINUX_IRQ_LABEL_MAX]; /* "24", "LOC" */
	int32_t irq;			 /* < 0: of the architecture */
	char chip[LINUX_IRQ_NAME_MAX];	 /* "PCI-MSI"; what follows of an irq >= 0 only; sanitized */
	char flow[LINUX_IRQ_NAME_MAX];	 /* "edge"; "": unknown */
	char actions[LINUX_IRQ_ACTIONS_BYTES]; /* of drivers, "virtio0-req.0, eth0" */
	bool has_hwirq;
	uint64_t hwirq;
	char text[LINUX_IRQ_NAME_MAX]; /* of the architecture: what is counted; "": unknown; sanitized */
	bool single;	  /* one count for all CPUs */
	size_t count;	  /* index of that of the first CPU in counts */
};

struct linux_interrupts {
	struct linux_interrupt *row; /* owned, as are the counts */
	size_t nr;
	uint32_t *count;
	size_t nr_counts;
	struct linux_cpus cpus;
};

/*
 * The rows of /proc/interrupts, in its order: those of interrupts, but for hidden ones and those that nobody handles
 * and that never came, then those of the architecture (x86) that the BTF has. -ENOENT, -E2BIG, -ENOMEM with the error
 * message set; what was read until then is in *ret, which is the caller's, also on failure. Descriptors that changed
 * meanwhile are left out, and counted in g->torn.
 */
int linux_interrupts_read(struct linux_guest *g, const struct btf_types *types,
			  struct linux_interrupts *ret);
void linux_interrupts_deinit(struct linux_interrupts *i);

enum {
	LINUX_BUSES_MAX = 1024,
	LINUX_VIRTIO_DEVICES_MAX = 1024,
	LINUX_VIRTQUEUES_MAX = 16384, /* of all devices */
	LINUX_VIRTIO_NAME_MAX = 32,
};

struct linux_virtqueue {
	char device[LINUX_VIRTIO_NAME_MAX]; /* "virtio0"; names are sanitized */
	char driver[LINUX_VIRTIO_NAME_MAX]; /* "virtio_blk"; "": none */
	char name[LINUX_VIRTIO_NAME_MAX];   /* "req.0" */
	uint32_t index, size, free;	    /* free: descriptors */
	uint64_t ring; /* where the VM's process has the descriptors; 0: not mapped */
	bool packed, broken, event_idx;
	bool moving; /* it changed whenever it was read */

	/* The driver's own state. split: indices as in the rings; packed: descriptors. */
	uint16_t avail_idx; /* of what it offers next */
	uint16_t seen_idx;  /* of the next used element that it looks at */
	uint16_t added;	    /* offered since the device was notified last, or this was found unnecessary */

	/* What is in the rings; only if rings is set. */
	bool rings;
	uint16_t ring_avail_idx, ring_used_idx; /* split */
	struct virtq_notify kicks, interrupts;	/* which the device, and the driver, wants */
};

/*
 * All queues, by device; *ret is allocated, *ret_nr must be 0. 0, or with the error message set: -ENOENT: the kernel
 * has no virtio bus, or lacks a symbol or a type; -EAGAIN: a list kept changing; -E2BIG; -ENOMEM: *ret has a part of
 * it. Queues that could not be read are left out, and counted in g->torn.
 */
int linux_virtqueues_read(struct linux_guest *g, const struct btf_types *types,
			  struct linux_virtqueue **ret, size_t *ret_nr);

/* A Linux guest's clock (kernel/time/timekeeping.c, struct timekeeper), by the offsets in its BTF. */

enum {
	LINUX_CLOCKSOURCE_MAX = 32,
	LINUX_TIMEKEEPER_MAX = 2048, /* bytes; 288 in 6.12 */
};

/* What the guest's kernel has of its clock, as of its last update. */
struct linux_clock {
	uint32_t seq; /* differs after each update */
	char source[LINUX_CLOCKSOURCE_MAX]; /* "tsc", "kvm-clock"; sanitized */
	uint64_t real_ns, fraction; /* CLOCK_REALTIME, and what is behind the ns, in 1 / 2^shift */
	uint64_t cycles, mask;	    /* of the clock source then */
	uint32_t mult, shift;	    /* ns = cycles * mult >> shift */
	uint64_t tick_ns; /* an update is so much later than `cycles` at most */
};

/* ABI of kvm-clock (Documentation/virt/kvm/x86/msr.rst), of vCPU 0. */
struct linux_pvclock {
	uint32_t version, pad;
	uint64_t tsc_timestamp, system_time;
	uint32_t mul;
	int8_t shift;
	uint8_t flags, pad2[2];
};

struct linux_timekeeper {
	struct linux_guest *g; /* borrowed */
	uint64_t seq, at; /* addresses */
	int bytes, clock, mask, cycles, mult, shift, fraction, seconds, interval, name;
};

/* -ENOENT with the error message set: the kernel lacks a symbol or its BTF a type. types are not kept. */
int linux_timekeeper_find(struct linux_guest *g, const struct btf_types *types,
			  struct linux_timekeeper *ret);

/* Its sequence count; odd: an update is under way. -EFAULT with the error message set. */
int linux_clock_seq(const struct linux_timekeeper *t, uint32_t *ret);

/* -EFAULT with the error message set: it cannot be read, is inconsistent, or changed whenever it was read. */
int linux_clock_read(const struct linux_timekeeper *t, struct linux_clock *ret);

/* CLOCK_REALTIME when the clock source has this value; before its last update: that of the update. */
uint64_t linux_clock_real(const struct linux_clock *c, uint64_t cycles);

/* -ENOENT (no error message): there is none. */
int linux_pvclock_read(struct linux_guest *g, struct linux_pvclock *ret);

#endif
