/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fields of a Linux guest's own events, which are records with fields (trace.dat, perf.data, raw pages) or
 * lines of text: "prev_comm=sh prev_pid=1 ... ==> next_comm=dd next_pid=107 next_prio=120".
 */
#ifndef HOSTRACE_GUEST_FIELDS_H
#define HOSTRACE_GUEST_FIELDS_H

#include "event/event.h"

/* Which events are known here. */
enum guest_event {
	GUEST_OTHER,
	GUEST_SCHED_SWITCH,
	GUEST_SCHED_EXEC,
	GUEST_SCHED_FORK,
	GUEST_SCHED_WAKEUP,
	GUEST_TASK_NEW,
	GUEST_TASK_RENAME,
	GUEST_IRQ_ENTRY,
	GUEST_IRQ_EXIT,
	GUEST_BLOCK_ISSUE,
	GUEST_BLOCK_COMPLETE,
	GUEST_KICK, /* of a virtqueue, by OSv: a0 its vring, a1 whether it did */
};

enum guest_event guest_event_named(const char *name);

static inline enum guest_event guest_event_kind(const struct event_type *type)
{
	return (enum guest_event)type->guest;
}

/* False: the event does not have the field. */
bool guest_number(const struct event *ev, const char *name, uint64_t *ret);
bool guest_text(const struct event *ev, const char *name, char *buf, size_t size);

/* block_rq_issue and block_rq_complete. */
struct guest_block {
	uint32_t major, minor, sectors;
	uint64_t sector;
	char op; /* R, W, D(iscard), F(lush); 0: other */
};

bool guest_block(const struct event *ev, struct guest_block *ret);

#endif
