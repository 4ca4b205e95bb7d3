/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is unknown when events are missing: it depends on their type, which the record of a loss contains. The rule: at
 * the time of an EV_lost, EV_gap or EV_probe_dropped all that its type shows becomes unknown, of all threads, as they
 * may have come to the CPU whose buffer was full; events up to the end of its interval show nothing, as others may
 * have followed them unseen; each thread's next event after that shows again what it does.
 *
 * What lasts from one event to another, as an exit, an interrupt or a stop, is unknown where the one that ends
 * it may be missing: loss_state.h, by which all reports decide. A gap is one of its CPU there.
 */
#ifndef HOSTRACE_MODEL_LOSSES_H
#define HOSTRACE_MODEL_LOSSES_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "model/loss_state.h"

enum {
	LOST_EXITS = 1,	  /* begin and end of exits */
	LOST_RUNS = 2,	  /* who runs, who sleeps in what */
	LOST_PARTS = 4,	  /* what KVM does in an exit; who has QEMU's global mutex */
	LOST_TASKS = 8,	  /* which other tasks ran */
	LOST_STACKS = 16, /* of the global mutex's holder */
	LOST_PLACES = 32, /* where a vCPU is: in the guest, in KVM, in the VMM */
	LOSSES = 6,
	LOST_ALL = (1 << LOSSES) - 1,
};

struct loss_windows {
	uint64_t until_ns[LOSSES]; /* end of the newest interval, by bit of LOST_...; 0: there was none */
	uint64_t newest_ns;	   /* of all of them */
	uint64_t place_until_ns;   /* as until_ns, of LOST_PLACES, without gaps of one CPU */
	struct loss_state exits, places; /* gaps are in `exits` */
};

/* LOST_...; 0 for other events, and where nothing depends on the type that is missing. */
unsigned int loss_kinds(const struct event *ev);

/* Notes the interval. */
void losses_note(struct loss_windows *l, const struct event *ev);
void losses_deinit(struct loss_windows *l);

/* A gap that is known to be of one CPU, after losses_note(): it says nothing of what other CPUs show. */
bool losses_of_one_cpu(const struct loss_windows *l, const struct event *ev);

/* Where a vCPU is, its event at that time on that CPU does not show, as another one may have followed unseen. */
static inline bool losses_hide_place(const struct loss_windows *l, const struct event *ev)
{
	return (l->place_until_ns && l->place_until_ns >= ev->time_ns) ||
	       (l->exits.gap_ns && gap_since_on(&l->exits, ev->time_ns, ev->cpu));
}

/* Is any of this (LOST_...) unknown at that time? */
static inline bool losses_cover(const struct loss_windows *l, unsigned int what, uint64_t ns)
{
	for (unsigned int i = 0; i < LOSSES && l->newest_ns >= ns; i++)
		if (what & 1u << i && l->until_ns[i] >= ns && l->until_ns[i])
			return true;
	return false;
}

#endif
