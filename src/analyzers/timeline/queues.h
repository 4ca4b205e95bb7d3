/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The virtqueues' part of a timeline: kicks, elements with the device, interrupts, and the arrows between them. */
#ifndef HOSTRACE_TIMELINE_QUEUES_H
#define HOSTRACE_TIMELINE_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct timeline;
struct timeline_queues;

struct timeline_queues *timeline_queues_new(struct timeline *t);
/*
 * group: where the tracks of this event's VM belong, if it is of a queue. What is in flight while events are missing is
 * not drawn.
 */
void timeline_queues_event(struct timeline_queues *q, const struct event *ev, uint32_t group);
void timeline_queues_end(struct timeline_queues *q, uint64_t ns);
void timeline_queues_free(struct timeline_queues *q);

/* Does it look at this event? By name as struct read_hint has it, and of an event. */
bool timeline_queues_wants(const char *event, void *arg);
bool timeline_queues_take(const struct event *ev);

#endif
