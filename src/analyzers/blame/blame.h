/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each exit's time went into. An exit lasts from kvm_exit to the next kvm_entry of its thread; in a trace without
 * kvm_exit from kvm_userspace_exit to kvm_run, or, in KVM_RUN, from when the thread leaves its CPU until it runs again:
 * meanwhile it executes no guest. Its parts are adjacent: each begins where the previous one ended, the
 * first one with the exit and the last one ends with it, so that they add up to its length whatever is attributed.
 *
 *	kernel        KVM handles the exit
 *	fault         KVM resolves a guest page fault, or the host one of the VMM's
 *	device        the VMM handles it: a port, an MMIO address, or another KVM_EXIT_*
 *	signal        a signal ended KVM_RUN (KVM_EXIT_INTR), and the VMM handles what another thread wants
 *	global-mutex  the thread sleeps until another thread of QEMU releases the global mutex
 *	handover      it sleeps, and the mutex is free: the thread that was woken for it has no CPU
 *	lock          it sleeps on another futex
 *	preempted     another task runs, though the thread could
 *	runqueue      it was woken and waits for a CPU
 *	syscall       it sleeps in a system call
 *	halt-poll     KVM polls for an interrupt of the halted vCPU
 *	halted        the vCPU is halted
 *	halted-or-fault  it sleeps in KVM_RUN, and kvm_vcpu_wakeup, which tells the two, is not recorded
 *	stopped       a signal (SIGSTOP) or a tracer has stopped the thread
 *	inject        KVM has injected an interrupt, until the entry
 *	unknown       the trace does not say: events are missing, or were lost
 *
 * Holders of the global mutex are known from its word, which sched_block contains, and from who wakes whom; between two
 * such events the mutex may change hands unseen, where nobody sleeps on it.
 */
#ifndef HOSTRACE_BLAME_H
#define HOSTRACE_BLAME_H

#include "base/cleanup.h"
#include "event/event.h"
#include "event/vm_names.h"

enum { BLAME_TASK_BYTES = VM_NAME_BYTES + 64 /* of blame_task_print() */ };

struct region_names;

enum blame_cause {
	BLAME_KERNEL,
	BLAME_FAULT,
	BLAME_DEVICE,
	BLAME_SIGNAL,
	BLAME_GLOBAL_MUTEX,
	BLAME_HANDOVER,
	BLAME_LOCK,
	BLAME_PREEMPTED,
	BLAME_RUNQUEUE,
	BLAME_SYSCALL,
	BLAME_HALT_POLL,
	BLAME_HALTED,
	BLAME_HALTED_OR_FAULT,
	BLAME_STOPPED,
	BLAME_INJECT,
	BLAME_UNKNOWN,
	BLAME_CAUSES
};

extern const char *const blame_cause_names[BLAME_CAUSES];

enum blame_kind {
	BLAME_NO_KIND,
	BLAME_PORT,	 /* the VMM handles it: `access` is a port */
	BLAME_MMIO,	 /* ... a guest physical address */
	BLAME_VMM,	 /* ... a KVM_EXIT_* */
	BLAME_RUNNING,	 /* global-mutex: its holder has a CPU */
	BLAME_NO_CPU,	 /* ... could run and has none */
	BLAME_SLEEPING,	 /* ... sleeps itself; `number` is its system call */
	BLAME_RELEASED,	 /* ... is releasing it: no owner any more, nobody woken yet */
};

#define BLAME_SEVERAL UINT32_MAX /* several threads of that name */
#define BLAME_ANY     (UINT32_MAX - 1) /* a thread of that name, whichever */
/* Of a kvm_exit or kvm_userspace_exit that the recording has without `reason`, and without `isa`. */
#define BLAME_NO_REASON (UINT32_MAX - 1)
#define BLAME_NO_ISA	UINT32_MAX
#define BLAME_IN_RUN  UINT32_MAX /* as a reason, with isa 0: the thread left its CPU in KVM_RUN */

/* What or who it was; zero where it is unknown or has no meaning. */
struct blame_who {
	enum blame_kind kind;
	uint32_t tid;	 /* the holder, the thread that was woken, or the task that ran instead; or BLAME_SEVERAL */
	uint64_t number; /* see above; lock: its address; syscall: its number; preempted, runqueue: the CPU */
	uint64_t access; /* device, and lock, syscall and fault while the VMM handles the exit: see above */
	uint32_t stack;	 /* global-mutex: what the holder did, for blame_stack(); 0: unknown */
	char comm[16];	 /* of tid; "" if unknown */
	const char *region; /* of `access`, as region_name() */
	bool several;	    /* a total: of several addresses in this region */
	const char *vm;	    /* preempted, runqueue: the VM of tid, as vm_of_other() has it; NULL: unknown, or of none */
};

struct blame_part {
	uint64_t start_ns, end_ns;
	enum blame_cause cause;
	struct blame_who who;
};

enum {
	BLAME_PARTS_MAX = 8192, /* of one exit; later ones are summed up by what they name, after them */
	BLAME_SUMS_MAX = 64,	/* of these, or fewer at twice BLAME_OPEN_PARTS_MAX; the time of others is unknown */
	BLAME_OPEN_PARTS_MAX = 1 << 17, /* of all exits that are open: at that, the later parts of each are summed up */
	BLAME_WAITERS_MAX = 64, /* vCPUs of a VM that wait for the global mutex and of which it is known who has it */
};

struct blame_exit {
	uint64_t start_ns, end_ns;
	uint32_t pid, tid;
	uint64_t rip; /* the guest's instruction; 0: unknown */
	uint32_t reason, isa; /* of kvm_exit; isa 0: a KVM_EXIT_* of kvm_userspace_exit, or BLAME_IN_RUN */
	uint16_t vcpu;
	bool nested; /* of a nested guest (L2) */
	uint64_t causes[BLAME_CAUSES]; /* their sum is end_ns - start_ns */
	unsigned int nr_parts;
	const struct blame_part *part;
};

struct blame_counts {
	uint64_t exits;
	uint64_t cut;	    /* ... that began before the time window */
	uint64_t open;	    /* still open at the end */
	uint64_t open_sleeps; /* ... with a BLAME_HALTED_OR_FAULT */
	uint64_t untimed_halts; /* kvm_vcpu_wakeup without its duration */
	uint64_t unmatched; /* a second exit began before the entry */
	uint64_t lost;	    /* dropped: their begin or end may be among lost events */
	uint64_t unseen;    /* dropped: the switch back to their thread is missing, though no event was lost */
	uint64_t unseen_ns; /* ... how long they were at most, in all */
	uint64_t too_long;  /* more than BLAME_PARTS_MAX parts, or BLAME_OPEN_PARTS_MAX of all */
	uint64_t halts;	    /* for hlt: all of it counts as halted, as no event shows how long it was */
	uint64_t busy_halts; /* ... or nothing of it, as it was too short to sleep */
	uint64_t unnamed;   /* ... and more than BLAME_SUMS_MAX sums */
	uint64_t ready;     /* waits for a CPU for which it is unknown who ran: too many waited (model/waits.c) */
	uint64_t cpuless;   /* sched_switch without the CPU: who ran while a thread waited for one is unknown */
	uint64_t crowded;   /* waits for the global mutex beyond BLAME_WAITERS_MAX: who has it is unknown */
	uint64_t refused;   /* events of threads beyond the limit */
	bool switches, blocks; /* the trace has sched_switch, sched_block */
	bool user_exits, runs; /* ... kvm_userspace_exit, kvm_run */
	bool userspace;	       /* no kvm_exit: exits begin in kvm_userspace_exit, or without a CPU */
};

struct blame_sink {
	/* Receives each exit, which is valid during the call, in order of their ends (nearly). 0 or -errno. */
	int (*ended)(void *arg, const struct blame_exit *x);

	/* All exits so far do not count: they began in kvm_userspace_exit, and now there is a kvm_exit. */
	void (*restart)(void *arg);
	void *arg;
};

enum { BLAME_SINKS_MAX = 4 };

/* Several sinks of one pass: each receives all exits. */
struct blame_sinks {
	struct blame_sink to[BLAME_SINKS_MAX];
	unsigned int nr;
};

struct blame_sink blame_sinks_sink(struct blame_sinks *s);

struct blame;

/* NULL: out of memory. */
struct blame *blame_new(const struct blame_sink *sink);
void blame_free(struct blame *b);
DEFINE_CLEANUP(blame, struct blame *, blame_free);

/* What is behind ports and addresses, for exits that end from now on. Borrowed; must outlive what the sink keeps. */
void blame_set_regions(struct blame *b, struct region_names *regions);

/* Whose threads run instead. Borrowed, as the regions. */
void blame_set_vms(struct blame *b, const struct vm_names *vms);

/*
 * Before the first event: only exits that end in [since_ns, until_ns) are passed to the sink and counted, whole. Events
 * from before tell what goes on when the window begins.
 */
void blame_window(struct blame *b, uint64_t since_ns, uint64_t until_ns);

/*
 * Before the first event: the trace is not ours. Then sched_switch comes once, in the thread that leaves its CPU, be it
 * of a VM or not, and sched_wakeup says what sched_woken does.
 */
void blame_set_foreign(struct blame *b);

/* kvm_vcpu_wakeup was recorded, also if the trace has none: a sleep in KVM_RUN without one is no halt. */
void blame_set_wakeups(struct blame *b);

/* All events in order of time. 0, or what the sink returned, or -ENOMEM with the error message set. */
int blame_event(struct blame *b, const struct event *ev);
int blame_end(struct blame *b);

/* Before blame_end(): the exit that the thread is in, if it is, counts as ended now. */
void blame_end_open(struct blame *b, uint32_t tid, uint64_t now_ns);

const struct blame_counts *blame_counts(const struct blame *b);

/* Functions, innermost first, separated by ';'. NULL: unknown. Valid until blame_free(). */
const char *blame_stack(const struct blame *b, uint32_t id);

/* As struct read_hint has it. */
bool blame_wants(const char *event, void *arg);

/* "port 0x71", "held by CPU 1/KVM (12), which waits for a CPU"; "" if there is nothing to say. Returns buf. */
const char *blame_who_print(enum blame_cause cause, const struct blame_who *who, char *buf,
			    size_t size);

/* A task that ran instead: "gcc (4711)", "gcc (several)"; of a VM: "CPU 0/KVM (4712) of db". Returns buf. */
const char *blame_task_print(const char *comm, uint32_t tid, const char *vm, char *buf,
			     size_t size);

/* "io", "HLT", "MMIO": as other reports name the reason. Returns buf. */
const char *blame_reason_print(uint32_t reason, uint32_t isa, char *buf, size_t size);

/* "futex"; "system call 999" if it has no name here. Returns buf or a constant. */
const char *blame_syscall_print(uint64_t number, char *buf, size_t size);

#endif
