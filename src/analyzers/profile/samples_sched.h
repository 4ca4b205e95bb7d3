/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the scheduler's samples show: how long woken threads wait for a CPU, and how long the queues of CPUs are. */
#ifndef HOSTRACE_SAMPLES_SCHED_H
#define HOSTRACE_SAMPLES_SCHED_H

#include "event/sample.h"

struct wakeup {
	const struct sample *end; /* the sample of the wait's end */
	uint64_t since_ns, wake_ns;
};

/*
 * Calls `put` for each wait that ends within the range, in the order of their ends. Reads the trace from its start
 * until `put` returns other than 0. Returns that, 0, or -errno with the error message set.
 */
int wakeups_find(struct sample_trace *t, const struct time_range *range,
		 int (*put)(void *arg, const struct wakeup *w), void *arg);

enum { CPU_LOADS_MAX = 4096 };

struct cpu_loads {
	int64_t load[CPU_LOADS_MAX];
	bool known[CPU_LOADS_MAX];
	uint32_t nr, nr_known; /* highest CPU + 1; number of CPUs seen */
};

struct cpu_load_options {
	struct time_range range;
	uint64_t cpus; /* -c: rows only after this many CPUs were seen; 0: at once */
};

/*
 * Calls `put` after each sample of the range. Reads the trace from its start until `put` returns other than 0. Returns
 * that, 0, or -errno with the error message set.
 */
int cpu_loads_find(struct sample_trace *t, const struct cpu_load_options *opt,
		   int (*put)(void *arg, uint64_t time_ns, const struct cpu_loads *loads),
		   void *arg);

#endif
