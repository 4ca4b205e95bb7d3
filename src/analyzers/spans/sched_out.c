// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One event both takes a thread off a CPU and puts another on: the same kind begins and ends spans,
 * of different threads. Thread 0 is the idle task. The header's thread is the one that leaves if it
 * is the VM's, else the one that comes; between two threads of one VM there is one event for both.
 */
#include "event/records.h"
#include "pairing/analyzer.h"
#include "pairing/pair.h"

static void feed(struct pairing *p, const struct event *ev)
{
	RECORD(sched_switch, r, ev);
	uint64_t prev = r->prev_tid, next = r->next_tid;

	if (next && (next == ev->tid || pairing_is_open(p, (struct pair_key){{ev->pid, next, 0}})))
		pairing_finish(p, ev, (struct pair_key){{ev->pid, next, 0}});
	if (prev && prev == ev->tid)
		pairing_begin(p, ev, (struct pair_key){{ev->pid, prev, 0}});
}

const struct analyzer sched_out_analyzer = {
	.name = "sched-out",
	.summary = "how long threads of the VM are off the CPU",
	.begin = "sched_switch",
	.end = "sched_switch",
	.by = "tid,prev_state",
	.feed = feed,
	.caveat = "prev_state 0x0: preempted while runnable; other states: sleeping",
};
