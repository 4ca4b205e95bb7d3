/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What each thread of the host does at each time, as far as a recording shows it: the one state machine of threads,
 * which all analyzers read.
 *
 *	          sched_switch: it gets a CPU
 *	    +-------------------------------------+
 *	    v                                     |
 *	RUNNING --- switched out, state 0 --> PREEMPTED
 *	  |  ^
 *	  |  +----- sched_switch: it gets a CPU --- WOKEN
 *	  |                                          ^
 *	  +-- switched out, another state --> ASLEEP -- sched_woken, sched_wakeup
 *
 * WOKEN and PREEMPTED threads wait for a CPU. ENDED: it has exited. Any state becomes UNKNOWN where events are missing
 * (model/losses.h), until the next event that shows what the thread does. The rules where a recording is not complete
 * or an event comes early:
 *
 *	Events of KVM (kvm_exit, kvm_entry, kvm_userspace_exit, kvm_run) are made by the vCPU's own thread: it runs.
 *	Leaving a CPU without having got one, or getting one twice: a switch is missing. What the thread did since its
 *	  previous event is unknown; so it is if an event of KVM comes in a thread that has no CPU.
 *	sched_woken (the kernel's sched_waking) comes before the wake-up: it may find the thread still on its CPU,
 *	  about to sleep. If that leaves within EARLY_WAKE_NS, it does not sleep: it waits for a CPU.
 *	A wake-up of a thread of which nothing is known: it slept, unless its next event shows that it was running.
 *	sched_block comes right after the switch that it explains: what the thread left its CPU in.
 *	A vCPU that sleeps in an exit may have halted, whatever the exit is called (guests of SEV-ES and TDX, with
 *	  Hyper-V's or Xen's interface, PSCI): kvm_vcpu_wakeup tells, which comes when it runs again.
 *	Its first event shows what a thread did since the start of the recording, if nothing was lost (first_state).
 *
 * Events in order of time go in; out come periods: a call for each period that ends, with the thread as it was in the
 * period, before it changes. A period's state is what is known at its end: it may be another one than the thread had
 * while the period lasted.
 */
#ifndef HOSTRACE_MODEL_THREADS_H
#define HOSTRACE_MODEL_THREADS_H

#include <linux/kvm.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "model/losses.h"
#include "syscalls.h"

enum {
	MODEL_THREADS_MAX = 1 << 15, /* of all inputs; events of further ones are counted */
	EARLY_WAKE_NS = 20000,
	RECENT_CPUS = 64,
	SLEEPS_OPEN_MAX = 4,
};

enum run_state {
	THREAD_UNKNOWN,
	THREAD_RUNNING,	  /* it has a CPU */
	THREAD_PREEMPTED, /* it was switched out and could run */
	THREAD_WOKEN,	  /* it slept, and waits for a CPU */
	THREAD_ASLEEP,
	THREAD_ENDED,
	THREAD_STATES
};

/* What a thread left its CPU in: its sched_block. */
struct thread_block {
	bool known;
	int32_t syscall; /* -1: none */
	bool is_global;	 /* a futex: that of QEMU's global mutex */
	uint64_t arg0, arg1;
};

/* See model_sleep_is_open(). */
struct thread_sleep {
	uint64_t from_ns, to_ns;
	bool in_kvm_run; /* its sched_block says so */
};

/* Where a vCPU is, from the events of KVM in its thread: in guest mode, if neither in the VMM nor in an exit. */
struct vcpu_place {
	uint64_t nr_losses;    /* but gaps, when its newest came: see model_place_known() */
	struct loss_mark mark; /* ... which was here */
	bool is_seen;	    /* there was such an event */
	bool in_vmm;	    /* KVM_RUN has returned */
	bool in_exit;	    /* a kvm_exit, and no kvm_entry yet */
	bool halts;	    /* that exit is of HLT */
	uint64_t exit_ns;   /* it left guest mode, or KVM_RUN; 0: it did not */

	/* Its newest kvm_exit or kvm_entry; kvm_userspace_exit or kvm_run. */
	struct phase {
		struct loss_mark mark;
		bool has_begun;
		bool is_lost; /* what that event ended: it may have ended before, as events are missing */
	} exit, vmm;
};

/* A task that has a CPU. */
struct runner {
	bool known;
	uint32_t cpu;
	uint32_t tid; /* 0: it is idle: the thread that waits was throttled, or just woken */
	char comm[16];
};

/* The first member of its reader's own struct. */
struct model_thread {
	uint64_t key;	  /* model_thread_key() */
	uint32_t tid, number; /* number: 0, 1, ... in the order of their first events */
	uint32_t pid;	  /* 0: no event tells (of a thread of a foreign trace) */
	uint16_t source, vcpu; /* RECORD_NO_VCPU: it is none */
	uint16_t cpu;	  /* of the newest event that changed its state */
	char comm[16];	  /* the newest; "": not known */

	enum run_state state;
	uint64_t since_ns;
	bool interruptible; /* since it left its CPU: signals wake it */
	bool stopped; /* ... or by a signal or a tracer: it is asleep, in no system call of its own */
	bool is_stateless;  /* it left a CPU, and the recording lacks in which state */
	struct thread_block block;
	struct vcpu_place place; /* see model_place_known() */
	struct thread_sleep *sleep; /* the newest of its exit that are open: SLEEPS_OPEN_MAX; NULL: there was none */
	unsigned int nr_sleeps;

	/* An event has shown what it does; the first one at first_ns, and until then it did this since the start. */
	bool is_seen;
	enum run_state first_state;
	uint64_t first_ns;

	/* The tracker's own. */
	uint64_t woken_early_ns;
	bool is_assumed; /* WOKEN, as it was unknown */
	bool is_touched; /* had an event since the newest loss */
	struct model_thread *next_touched;

	/* While it waits for a CPU: waits.c. */
	struct thread_wait {
		struct waited_cpu *cpu; /* NULL: not known which */
		struct model_thread *next, *prev; /* who else waits for it */
		bool is_one_too_many; /* so many wait for it that who runs instead is unknown */
		uint64_t taken_ns;    /* the reader knows who ran instead up to here */
	} wait;
};

struct model_counts {
	uint64_t nameless; /* switches and wake-ups without a thread's id: what threads do is unknown from then on */
	uint64_t stateless; /* switches without prev_state: what the thread did until it came back is unknown */
	uint64_t cpuless; /* switches without the CPU: who ran while threads waited is unknown */
	uint64_t missing; /* switches that are missing though no event was lost there */
	uint64_t losses;  /* times from which on nothing was known */
	uint64_t exit_losses; /* ... of where vCPUs are, but for gaps */
	uint64_t task_losses; /* ... of which other tasks ran */
	uint64_t refused; /* events of threads or CPUs beyond the limit, or without memory */
	uint64_t unnamed; /* waits for which it is unknown who ran: too many waited for the CPU */
	bool switches, blocks, exits; /* the trace has sched_switch, sched_block, kvm_exit */
};

struct model_reader {
	/* The thread's period from since_ns to `ns` has ended, in t->state; then comes `next`, by this event. */
	void (*period)(void *arg, struct model_thread *t, uint64_t ns, enum run_state next,
		       const struct event *ev);

	/*
	 * While the thread waited this task had its CPU. The calls are without gaps, and come before the end of the
	 * period. NULL: of no interest.
	 */
	void (*taken)(void *arg, struct model_thread *t, uint64_t from_ns, uint64_t to_ns,
		      const struct runner *who);

	/* This sleep, which was open when its period ended, was a halt or not. NULL: no sleep is open. */
	void (*slept)(void *arg, struct model_thread *t, const struct thread_sleep *s, bool halted);

	/* After that: events are missing, so that this (LOST_...) is unknown. NULL: of no interest. */
	void (*lost)(void *arg, unsigned int what, uint64_t ns);
	void *arg;
	size_t thread_size; /* of the reader's struct, which the tracker allocates, zeroed, and frees */
};

struct model {
	struct model_reader reader;
	struct model_counts counts;
	uint64_t start_ns;
	bool foreign;
	struct loss_windows losses;
	struct hash_table threads, cpus;
	struct model_thread **thread; /* by number */
	struct recent_cpu {
		uint64_t key;
		struct waited_cpu *cpu;
	} recent_cpu[RECENT_CPUS];
	unsigned int nr_waits; /* of threads whose CPU is known */
	struct model_thread *touched;
	struct model_thread *recent[RECENT_CPUS]; /* by the lowest bits of the CPU: found without a hash */

	/* The newest switch of a CPU was to a thread that had no event yet: it may be of the VM. By the same bits. */
	struct unseen_thread {
		uint32_t tid, cpu; /* tid 0: it was not */
		uint16_t source;
		uint64_t ns, losses;
	} unseen[RECENT_CPUS];
};

/* Threads are unknown from start_ns on. `foreign`: model_set_foreign(). */
void model_init(struct model *m, const struct model_reader *reader, uint64_t start_ns);
void model_deinit(struct model *m);

/*
 * Before the first event: the trace is not ours. Then sched_switch comes once for two threads, in the thread that
 * leaves its CPU, whether or not it belongs to a VM.
 */
void model_set_foreign(struct model *m);

/* All events in order of time. */
void model_event(struct model *m, const struct event *ev);

/* All periods end; states stay. */
void model_end(struct model *m, uint64_t ns);

/* Does the tracker look at this event, if its reader has `taken`, `slept`? */
bool model_wants(const char *event, bool taken, bool slept);

/* Who has the CPU that the thread waits for. NULL: unknown. */
const struct runner *model_runner(const struct model *m, const struct model_thread *t);

static inline uint64_t model_thread_key(uint16_t source, uint32_t tid)
{
	return (uint64_t)source << 32 | tid;
}

/* NULL: it had no event. */
struct model_thread *model_thread_find(const struct model *m, uint16_t source, uint32_t tid);

/* The thread in which the event happened; it is made if it is new. NULL: tid 0, or there are too many. */
struct model_thread *model_thread_search(struct model *m, const struct event *ev);

/* The same; it is mostly that of the CPU's event before. */
static inline struct model_thread *model_thread_get(struct model *m, const struct event *ev)
{
	struct model_thread *t = m->recent[ev->cpu % RECENT_CPUS];

	if (!t || t->tid != ev->tid || t->source != ev->source || !t->is_touched)
		return model_thread_search(m, ev);
	if (m->foreign)
		t->pid = ev->pid;
	if (ev->vcpu != RECORD_NO_VCPU)
		t->vcpu = ev->vcpu;
	return t;
}

/* Iterates in the order of numbers: *at is 0 at first. NULL at the end. */
struct model_thread *model_thread_next(const struct model *m, uint32_t *at);

/* May events that show states be missing at that time? */
static inline bool model_is_blind(const struct model *m, uint64_t ns)
{
	return losses_cover(&m->losses, LOST_RUNS, ns);
}

/* Can no event of KVM be missing between the newest one of this vCPU's and this time, when it is on this CPU? */
static inline bool model_place_known(const struct model *m, const struct model_thread *t,
				     uint16_t cpu, uint64_t ns)
{
	return t->place.nr_losses == m->counts.exit_losses &&
	       !gap_since(&m->losses.exits, &t->place.mark, cpu, ns);
}

/* What has begun with the vCPU's newest event of this kind: may it have ended, as events are missing? */
bool model_exit_lost(const struct model *m, const struct model_thread *t);
bool model_vmm_lost(const struct model *m, const struct model_thread *t);

/*
 * Is this sleep, which the event ends, one for the recorder? While that reads where the memory of QEMU is, or sets its
 * probes, threads wait that map memory.
 */
bool thread_slept_for_recorder(const struct model_thread *t, const struct event *ev);

static inline bool thread_waits(const struct model_thread *t)
{
	return t->state == THREAD_PREEMPTED || t->state == THREAD_WOKEN;
}

/*
 * Of a thread that is asleep, if no sched_block tells in what: the guest halted. Without kvm_exit any sleep in KVM_RUN
 * counts as that.
 */
static inline bool model_sleeps_halted(const struct model *m, const struct model_thread *t)
{
	return !t->stopped && model_place_known(m, t, t->cpu, t->since_ns) && t->place.is_seen &&
	       !t->place.in_vmm && (t->place.halts || !m->counts.exits);
}

static inline bool is_kvm_run(int64_t syscall, uint64_t arg1)
{
	return syscall_is_ioctl((uint64_t)syscall) && arg1 == KVM_RUN;
}

/* It left its CPU within KVM_RUN. */
static inline bool thread_left_in_kvm_run(const struct model_thread *t)
{
	return t->block.known && is_kvm_run(t->block.syscall, t->block.arg1);
}

/*
 * It is asleep in an exit that is not of HLT, so that signals wake it, as halts do: whether it has halted is known with
 * its next event of KVM. A reader counts the period when `slept` is called.
 */
static inline bool model_sleep_is_open(const struct model *m, const struct model_thread *t)
{
	const struct vcpu_place *p = &t->place;

	return m->reader.slept && t->state == THREAD_ASLEEP && t->interruptible && !t->stopped &&
	       (!t->block.known || thread_left_in_kvm_run(t)) && m->counts.exits &&
	       p->is_seen && p->in_exit && !p->in_vmm && !p->halts &&
	       model_place_known(m, t, t->cpu, t->since_ns);
}

#endif
