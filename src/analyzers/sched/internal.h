/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of this folder only. */
#ifndef HOSTRACE_SCHED_INTERNAL_H
#define HOSTRACE_SCHED_INTERNAL_H

#include "analyzers/sched/sched.h"
#include "base/hash.h"
#include "model/threads.h"

enum {
	SCHED_VMS_MAX = 1 << 16,
	SCHED_CPUS_MAX = 1 << 16,
	SCHED_LOOPS_MAX = 1 << 13, /* threads that poll */
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

/* A thread, with its times up to model.since_ns. */
struct follow {
	struct model_thread model;
	struct sched_thread t;
	bool wakes_poll; /* it was woken out of polling */
	bool in_vm;	 /* its process has a vCPU: */
	uint32_t vm_pid;
	struct sched_handler *handler; /* that it sleeps in; NULL: not known */

	/* While it waits for a CPU: */
	struct waited_cpu *cpu; /* NULL: not known which */
	struct follow *next, *prev; /* who else waits for it */
	bool is_one_too_many;	/* more than SCHED_WAITERS_MAX wait for it: who runs instead is unknown */
	uint64_t taken_ns;	/* who ran instead is known up to here */
	uint64_t unknown_ns;	/* of this wait: unknown tasks ran */
	uint32_t charged_tid;	/* the newest of this wait's charges; they count once it is over */
	unsigned int nr_charges;
};

/* A CPU that threads wait for. */
struct waited_cpu {
	struct follow *waiters;
	unsigned int nr_waiters;
	bool known; /* who runs there */
	uint32_t tid;
	char comm[16];
};

struct vm_entry {
	uint64_t key; /* source, pid of a process that has a vCPU */
};

struct cpu_entry {
	uint64_t key; /* source, CPU */
	struct waited_cpu *cpu;
};

struct sched {
	struct model model;
	struct sched_counts counts;
	struct hash_table cpus, vms, takers, charges, handlers;
	unsigned int nr_loops;
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
