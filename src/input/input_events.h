/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The selected events of an open input set, one by one, with the names of their threads. */
#ifndef HOSTRACE_INPUT_EVENTS_H
#define HOSTRACE_INPUT_EVENTS_H

#include "event/thread_names.h"
#include "input/input_set.h"

struct input_events {
	const struct input_set *set; /* borrowed */
	struct thread_names *names;
	uint64_t lost; /* how many lost events are known so far */
	struct batch *batch;
	unsigned int at;
	int more; /* 1; what the reader returned last, once that is 0 or an error */
};

/* 0 or -errno with the error message set. To be closed in both cases. */
int input_events_open(const struct input_set *set, struct input_events *ret);
void input_events_close(struct input_events *events);
#define _cleanup_input_events_ _cleanup_(input_events_close)

/*
 * 1 and the event, which is valid until the next call; 0 and NULL at the end; -errno with the error message set. A call
 * after that returns the same.
 */
int input_events_next(struct input_events *events, const struct event **ret);

#endif
