/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of virtqueues, for `top --queues` and `exporter --queues`. Requests are far fewer
 * than exits, so their events come to this process, where pairing/elements.h follows each request with the rules of
 * 'leaks': resets, unpops and losses do not make a depth wrong for good.
 */
#ifndef HOSTRACE_COMMANDS_QUEUE_EVENTS_H
#define HOSTRACE_COMMANDS_QUEUE_EVENTS_H

#include "collector/collector.h"
#include "commands/live/top.h"
#include "event/record_round.h"

/* Zero-initialised is closed. */
struct queue_events {
	struct collector *collector;
	struct record_round round;
	uint64_t watermark_ns; /* all events before have been passed on */
};

/* Probes QEMU's virtqueues of these VMs, for the events that 'leaks' wants. 0 or -errno with the error message set. */
int queue_events_open(const struct top_vms *vms, struct queue_events *ret);

/* The same for VMs that are added by collector_vm_add(), and for these events. */
int queue_events_follow(const bool wants[EV_LIMIT], struct queue_events *ret);
void queue_events_close(struct queue_events *q);

/* Passes on what has come since, in the order of time. An error ends it and is returned. */
int queue_events_read(struct queue_events *q, record_round_fn *fn, void *arg);

#endif
