/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the thread of a dump's culprit did meanwhile: the call stack that it had for the longest time, of those that a
 * recording has (sched_holder, sched_stack).
 */
#ifndef HOSTRACE_TRIGGER_STACKS_H
#define HOSTRACE_TRIGGER_STACKS_H

#include <stdio.h>

#include "event/event.h"
#include "trigger/watch.h"

struct culprit_stacks;

/* NULL: out of memory, error message set. The culprit must outlive it. */
struct culprit_stacks *culprit_stacks_new(const struct trigger_culprit *c);
void culprit_stacks_free(struct culprit_stacks *s);

/* All events in order of time. */
void culprit_stacks_event(struct culprit_stacks *s, const struct event *ev);

/* Frames one a line, innermost first; or, if no stack lasted for a tenth of the span, which ones are recorded. */
void culprit_stacks_write(struct culprit_stacks *s, FILE *f);

/* "a;b" as "  a", "  b". */
void stack_frames_write(const char *stack, FILE *f);

#endif
