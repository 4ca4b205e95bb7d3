/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From waking a thread to its return from the wait: sched_wait, sched_wake and sched_wait_ret of a trace. Only waits
 * that end on the CPU where they began.
 */
#ifndef HOSTRACE_WAKEUPS_H
#define HOSTRACE_WAKEUPS_H

#include "analyzers/profile/time_range.h"
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

#endif
