/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the threads of the VMs did at any time: who had a CPU, who waited for one, who slept. All changes of the model's
 * threads are kept, so that a time may be asked for when it is long past.
 */
#ifndef HOSTRACE_PATH_THREADS_H
#define HOSTRACE_PATH_THREADS_H

#include "model/threads.h"

enum {
	THREAD_CHANGES_MAX = 1 << 21, /* of all threads; later times are unknown */
	THREAD_OTHERS_MAX = 1 << 18, /* of them, tasks that get a waiting thread's CPU; later ones are unknown */
};

enum path_run {
	PATH_RUN_UNKNOWN,	 /* not recorded, or events were lost */
	PATH_RUNNING,
	PATH_RUNQUEUE, /* it could run and has no CPU: woken, or preempted */
	PATH_ASLEEP,
	PATH_RUNS
};

extern const char *const path_run_names[PATH_RUNS];

struct thread_change {
	uint64_t ns;
	uint32_t other_tid; /* of PATH_RUNQUEUE: who had the CPU instead; 0: unknown */
	uint16_t cpu;
	uint8_t run; /* enum path_run, from then on */
	char other[16];
};

struct thread_log {
	struct model_thread model;
	uint64_t woken_ns;	/* its newest wake-up, */
	uint32_t waker_tid;	/* by this thread; 0: unknown */
	uint64_t woken_exit_ns; /* ... which was in an exit since then; 0: in none */
	struct thread_change *change;
	size_t nr;
};

struct threads {
	struct model model;
	uint64_t last_ns; /* of the newest event */
	size_t nr_changes, nr_others;
	uint64_t refused; /* changes above a limit */
	bool wakes;	  /* the trace has wake-ups */
	int err;
};

void threads_init(struct threads *t);
void threads_deinit(struct threads *t);

/* 0, or -ENOMEM with the error message set. */
int threads_event(struct threads *t, const struct event *ev);
void threads_end(struct threads *t);

/* NULL: unknown. */
struct thread_log *threads_find(const struct threads *t, uint16_t source, uint32_t tid);

static inline bool thread_is_vcpu(const struct thread_log *log)
{
	return log->model.place.is_seen;
}

/* When the exit began that the vCPU, which is on this event's CPU, is in; 0: in none, it is none, or not known. */
uint64_t thread_exit_ns(const struct threads *t, const struct thread_log *log,
			const struct event *ev);

/* The change that is in force at `ns`: its index, or -1: none is known. */
ptrdiff_t thread_at(const struct thread_log *log, uint64_t ns);

/* Did the thread sleep or wait for a CPU between these times? False as well if that is unknown. */
bool thread_slept(const struct thread_log *log, uint64_t from_ns, uint64_t to_ns);

#endif
