/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of this folder only. */
#ifndef HOSTRACE_SCHED_INTERNAL_H
#define HOSTRACE_SCHED_INTERNAL_H

#include "analyzers/sched/sched.h"
#include "base/hash.h"
#include "model/threads.h"

enum {
	SCHED_VMS_MAX = 1 << 16,
	SCHED_LOOPS_MAX = 1 << 13, /* threads that poll */
	SCHED_PREEMPTORS_MAX = 1 << 16,
	SCHED_CHARGES_MAX = 1 << 16, /* of all waits at a time */
};

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
	uint64_t unknown_ns;	/* of this wait: unknown tasks ran */
	uint32_t charged_tid;	/* the newest of this wait's charges; they count once it is over */
	unsigned int nr_charges;
};

struct vm_entry {
	uint64_t key; /* source, pid of a process that has a vCPU */
};

struct sched {
	struct model model;
	struct sched_counts counts;
	struct hash_table vms, preemptors, charges, handlers;
	unsigned int nr_loops;
	uint64_t since_ns, until_ns; /* the window */
	bool has_begun;		     /* the window: */
	struct model_counts before;  /* ... those then */
	int err;
};

/* How much of this lies in the window? */
static inline uint64_t sched_in_window(const struct sched *s, uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > s->since_ns ? to_ns - (from_ns > s->since_ns ? from_ns : s->since_ns) : 0;
}

/* preemptors.c: as struct model_reader has it. */
void preemptors_charge(void *arg, struct model_thread *m, uint64_t from_ns, uint64_t to_ns,
		   const struct runner *who);

/* The wait is over, and counts, and so do those who ran instead; or it was none. */
void preemptors_count(struct sched *s, struct follow *t);
void preemptors_forget(struct sched *s, struct follow *t);

/* handlers.c: what event loops do. */
void handlers_init(struct sched *s);
void handlers_deinit(struct sched *s);
void handlers_event(struct sched *s, struct follow *t, const struct event *ev);

#endif
