/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was unusual from a moment on, compared with the time before it: durations that are longer
 * than the longest one before, and rates that differ by more than chance explains. Of exits by
 * reason, userspace exits, virtqueue elements, block requests, waits for the global mutex,
 * preempted threads; and of events by name.
 */
#ifndef HOSTRACE_RECORD_UNUSUAL_H
#define HOSTRACE_RECORD_UNUSUAL_H

#include <stdio.h>

#include "event/event.h"

struct unusual;

/* NULL: out of memory, error message set. */
struct unusual *unusual_new(uint64_t split_ns);
void unusual_free(struct unusual *u);

/* All events in order of time. 0 or -errno with the error message set. */
int unusual_event(struct unusual *u, const struct event *ev);
int unusual_end(struct unusual *u);

void unusual_write(struct unusual *u, FILE *f);

#endif
