/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the threads of the VMs did at any time: who had a CPU, who waited for one, who slept. From sched_switch and
 * sched_woken (or sched_wakeup). All changes are kept, so that a time may be asked for when it is long past.
 */
#ifndef HOSTRACE_PATH_THREADS_H
#define HOSTRACE_PATH_THREADS_H

#include "base/hash.h"
#include "event/event.h"

enum {
	THREADS_SEEN_MAX = 1 << 16,
	THREAD_CHANGES_MAX = 1 << 21, /* of all threads; later times are unknown */
	THREAD_EARLY_WAKE_NS = 20000, /* a wake-up of a thread that is about to sleep comes at most so long before */
};

enum thread_run {
	THREAD_UNKNOWN,	 /* not recorded, or events were lost */
	THREAD_RUNNING,
	THREAD_RUNQUEUE, /* it could run and has no CPU: woken, or preempted */
	THREAD_ASLEEP,
	THREAD_RUNS
};

extern const char *const thread_run_names[THREAD_RUNS];

struct thread_change {
	uint64_t ns;
	uint32_t other_tid; /* of THREAD_RUNQUEUE: who had the CPU instead; 0: unknown */
	uint16_t cpu;
	uint8_t run; /* enum thread_run, from then on */
	char other[16];
};

struct thread_log {
	uint64_t key;
	uint32_t tid, pid;
	uint64_t exit_ns; /* of a vCPU: the exit that it is in began; 0: it is in none */
	uint64_t woken_ns;		   /* its newest wake-up, */
	uint32_t waker_tid;		   /* by this thread; 0: unknown */
	uint64_t woken_exit_ns;		   /* ... which was in an exit since then; 0: in none */
	uint64_t woken_early_ns;
	bool is_vcpu;
	bool is_touched; /* had an event since the last loss */
	struct thread_log *next_touched;
	struct thread_change *change;
	size_t nr;
};

struct threads {
	struct hash_table logs; /* of struct thread_entry */
	struct thread_log *touched;
	size_t nr_changes;
	uint64_t refused;	  /* changes and threads above the limits */
	bool switches, wakes;	  /* the trace has such events */
	int err;
};

void threads_init(struct threads *t);
void threads_deinit(struct threads *t);

/* Does it look at this event? */
bool threads_wants(const char *event);

/* 0, or -ENOMEM with the error message set. */
int threads_event(struct threads *t, const struct event *ev);

/* NULL: unknown. */
struct thread_log *threads_find(const struct threads *t, uint16_t source, uint32_t tid);

/* The change that is in force at `ns`: its index, or -1: none is known. */
ptrdiff_t thread_at(const struct thread_log *log, uint64_t ns);

/* Did the thread sleep or wait for a CPU between these times? False as well if that is unknown. */
bool thread_slept(const struct thread_log *log, uint64_t from_ns, uint64_t to_ns);

#endif
