/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the threads of VMs do with their time, from the scheduler's events: run, wait for a CPU (and which tasks run on
 * it meanwhile), sleep in what. A thread's times add up to how long it was observed.
 *
 *	runs       it has a CPU
 *	preempted  it could run, and was switched out
 *	runqueue   it was woken, and waits for a CPU
 *	polls      it sleeps until a file descriptor is ready or a timer expires: an event loop without work
 *	mutex      it sleeps on the futex of QEMU's global mutex
 *	lock       it sleeps on another futex; so does a vCPU that QEMU emulates while its guest is halted
 *	syscall    it sleeps in another system call
 *	halted     a vCPU sleeps in KVM_RUN
 *	fault      it sleeps outside system calls: a page fault
 *	stopped    a signal (SIGSTOP), a tracer or a freezer has stopped it
 *	sleeps     it sleeps, and the trace does not say in what: no sched_block
 *	unknown    events are missing
 *
 * preempted and runqueue together are the time on a run queue: what KVM reports to the guest as steal, and the kernel
 * in /proc/PID/task/TID/schedstat as run_delay.
 *
 * An event loop is a thread that has polled. From a wake-up out of polling until it polls again it is busy; what
 * becomes ready meanwhile has to wait.
 */
#ifndef HOSTRACE_SCHED_H
#define HOSTRACE_SCHED_H

#include "base/cleanup.h"
#include "base/quantiles.h"
#include "event/event.h"

enum sched_use {
	SCHED_RUNS,
	SCHED_PREEMPTED,
	SCHED_RUNQUEUE,
	SCHED_POLLS,
	SCHED_MUTEX,
	SCHED_LOCK,
	SCHED_SYSCALL,
	SCHED_HALTED,
	SCHED_FAULT,
	SCHED_STOPPED,
	SCHED_SLEEPS,
	SCHED_UNKNOWN,
	SCHED_USES
};

#define SCHED_SEVERAL (UINT32_MAX - 1) /* as a tid: a sum of several threads (fold.h) */

enum sched_kind { SCHED_VCPU, SCHED_MAIN_LOOP, SCHED_LOOP, SCHED_WORKER };

extern const char *const sched_kind_names[]; /* "vcpu", "main-loop", "event-loop", "worker" */

/* Times by use, and of `syscall` that with the longest total. */
struct sched_busy {
	uint64_t start_ns, end_ns;
	uint64_t time[SCHED_USES];
	uint64_t syscall_ns; /* the longest single sleep in a system call */
	int32_t syscall;
};

/* Of an event loop: from the wake-up to the CPU; each busy period; the longest one, and the one that is going on. */
struct sched_loop {
	struct quantiles wakeups, busy;
	struct sched_busy longest, now;
	bool is_busy;
};

struct sched_thread {
	uint32_t pid, tid, number; /* pid: 0 if no event tells; number: 0, 1, ... in the order of their first events */
	uint32_t folded;	   /* of a sum (fold.h): threads; else 0 */
	uint16_t source, vcpu;	   /* RECORD_NO_VCPU: it is none */
	char comm[16];
	uint64_t time[SCHED_USES];
	bool is_stateless;	/* what it did off the CPU is not recorded: sched_switch has no prev_state */
	struct quantiles waits; /* each time on a run queue */

	struct sched_loop *loop; /* NULL: it has never polled, or there are too many */
	uint64_t samples; /* of its call stack */
};

/* What an event loop calls: the functions below those that dispatch, as far as the stack has names. */
struct sched_handler {
	const struct sched_thread *thread;
	const char *name, *stack; /* stack: the first one; innermost function first, as in the name */
	uint64_t samples;	  /* while it ran */
	uint64_t slept_ns;	  /* asleep in it, not in polling */
};

/* A task that ran while a thread waited for its CPU. */
struct sched_preemptor {
	uint64_t key; /* number of the thread << 32 | tid */
	const struct sched_thread *thread;
	uint32_t tid; /* 0: the CPU was idle: the thread was throttled, or just woken; UINT32_MAX: unknown */
	char comm[16];
	const char *vm; /* of a sum: the task's, as vm_of_other() has it; NULL: of none, or unknown */
	uint64_t time_ns;
};

struct sched_counts {
	bool blocks, ran, stacks; /* the trace has sched_block, sched_ran, sched_stack */
	uint64_t switches;
	uint64_t nameless; /* switches and wake-ups without a thread's id, which are not counted */
	uint64_t cpuless;   /* switches without the CPU, so that who ran instead is unknown */
	uint64_t stateless; /* switches without the state of the thread that leaves */
	uint64_t missing; /* switches that were not reported: the thread's time is unknown since its previous event */
	uint64_t losses;  /* times at which events were lost: what threads did then is unknown */
	uint64_t refused; /* events of threads, event loops or CPUs beyond the limit */
	uint64_t unnamed; /* (parts of) waits for which the task that ran is unknown: too many */
	uint64_t cut; /* waits and busy periods that began before the window: they count whole */
};

struct sched;

/*
 * Only what threads do in [since_ns, until_ns) is counted, and waits that end in it; events from before tell what they
 * do when it begins. A thread counts from since_ns on, if its first event shows what it did. NULL: no memory.
 */
struct sched *sched_new(uint64_t since_ns, uint64_t until_ns);
void sched_free(struct sched *s);
DEFINE_CLEANUP(sched, struct sched *, sched_free);

/*
 * Before the first event: the trace is not ours. Then sched_switch comes once, in the thread that leaves its CPU, be it
 * of a VM or not.
 */
void sched_set_foreign(struct sched *s);

/* All events in order of time; 0 or -ENOMEM with the error message set. sched_end() accounts for the time until ns. */
int sched_event(struct sched *s, const struct event *ev);
int sched_end(struct sched *s, uint64_t ns);

/* Before sched_end(): the thread runs this vCPU, if no event of it says so. */
void sched_vcpu_learn(struct sched *s, uint16_t source, uint32_t tid, uint16_t vcpu);

/* As struct read_hint has it. */
bool sched_wants(const char *event, void *arg);

const struct sched_counts *sched_counts(const struct sched *s);

/*
 * In the order of their first events; those who ran instead by time, the longest first. Arrays of pointers into *s, to
 * be freed; NULL: out of memory. There are none without sched_switch.
 */
struct sched_thread **sched_threads(const struct sched *s, size_t *ret_nr);
const struct sched_preemptor **sched_preemptors(const struct sched *s, size_t *ret_nr);

/* As the preemptors. Time on a CPU is estimated: the thread's, divided by samples. */
const struct sched_handler **sched_handlers(const struct sched *s, size_t *ret_nr);
uint64_t sched_handler_run_ns(const struct sched_handler *h);
uint64_t sched_handler_ns(const struct sched_handler *h); /* on a CPU and asleep */

enum sched_kind sched_kind(const struct sched_thread *t);

/* A foreign trace has threads of all processes: is its process one that has a vCPU? True if the trace has no vCPU. */
bool sched_is_of_vm(const struct sched *s, const struct sched_thread *t);

/* How many processes have vCPUs. */
unsigned int sched_nr_vms(const struct sched *s);

/* On a run queue, and the time that is known. */
uint64_t sched_ready_ns(const struct sched_thread *t);
uint64_t sched_known_ns(const struct sched_thread *t);

#endif
