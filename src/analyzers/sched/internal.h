/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of this folder only. */
#ifndef HOSTRACE_SCHED_INTERNAL_H
#define HOSTRACE_SCHED_INTERNAL_H

#include "analyzers/sched/sched.h"
#include "base/hash.h"

enum {
	SCHED_THREADS_MAX = 1 << 16,
	SCHED_CPUS_MAX = 1 << 16,
	SCHED_TAKERS_MAX = 1 << 16,
	SCHED_CHARGES_MAX = 1 << 16, /* of all waits at a time */
	SCHED_WAITERS_MAX = 256, /* threads that wait for a CPU, of which it is known who runs instead */
};

struct waited_cpu;

/* A task that ran during a wait that is not over. */
struct charge {
	uint64_t key; /* number of the thread that waits << 32 | tid of the task */
	uint32_t tid, next_tid; /* that of the wait's previous charge */
	char comm[16];
	uint64_t time_ns;
};

/* A thread, and what it does now. */
struct follow {
	struct sched_thread t;
	enum sched_use use;
	uint64_t since_ns; /* its time is accounted up to here */
	uint64_t wait_ns;  /* preempted, runqueue: since when */
	uint64_t woken_early_ns; /* a wake-up that came while it still ran */
	bool seen, over;   /* had an event that shows what it does; has exited */
	bool wakes_poll;   /* runqueue: out of polling */
	int32_t syscall;   /* that it sleeps in */
	struct sched_handler *handler; /* the same; NULL: not known */
	bool is_busy;
	struct sched_busy busy; /* since it left polling */

	/* While it waits for a CPU: */
	struct waited_cpu *cpu; /* NULL: not known which */
	struct follow *next, *prev; /* who else waits for it */
	bool is_one_too_many;	/* more than SCHED_WAITERS_MAX wait for it: who runs instead is unknown */
	uint64_t taken_ns;	/* who ran instead is known up to here */
	uint64_t unknown_ns;	/* of this wait: unknown tasks ran */
	uint32_t charged_tid;	/* the newest of this wait's charges; they count once it is over */
	unsigned int nr_charges;

	bool is_touched; /* had an event since the last loss */
	struct follow *next_touched;
};

/* A CPU that threads wait for. */
struct waited_cpu {
	struct follow *waiters;
	unsigned int nr_waiters;
	bool known; /* who runs there */
	uint32_t tid;
	char comm[16];
};

struct follow_entry {
	uint64_t key; /* source, tid */
	struct follow *thread;
};

struct vm_entry {
	uint64_t key; /* source, pid of a process that has a vCPU */
};

struct cpu_entry {
	uint64_t key; /* source, CPU */
	struct waited_cpu *cpu;
};

struct sched {
	uint64_t start_ns, lost_until_ns;
	bool foreign; /* sched_set_foreign() */
	struct sched_counts counts;
	struct hash_table threads, cpus, vms, takers, charges, handlers;
	struct follow *touched; /* threads that had an event since the last loss */
	int err;
};

/* takers.c: who runs on a CPU while threads wait for it. */
struct waited_cpu *waited_cpu_get(struct sched *s, const struct event *ev, uint32_t cpu);
void wait_begins(struct sched *s, struct follow *t, struct waited_cpu *cpu, uint64_t ns);

/* The wait does not count: events are missing. */
void wait_forget(struct sched *s, struct follow *t);

/* The event switches its CPU from one task to another. */
void cpu_switches(struct sched *s, const struct event *ev);

/* The wait is over, by this switch. */
void wait_ends(struct sched *s, struct follow *t, const struct event *ev);

/* What follows is not in the trace: it ends, or events were lost. */
void wait_breaks_off(struct sched *s, struct follow *t, uint64_t ns);

/* handlers.c: what event loops do. */
void handlers_init(struct sched *s);
void handlers_deinit(struct sched *s);
void handlers_event(struct sched *s, struct follow *t, const struct event *ev);

#endif
