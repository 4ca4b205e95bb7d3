/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the spans that fulfil a condition in the records of a running recording. Records come as
 * the collector hands them over, one CPU after the other; at the end of a round those before the
 * watermark are put in order of time and paired by the analyzers, as a report would do it.
 *
 * A span fulfils its condition at the moment at which it becomes too long, whether or not it has ended: each is
 * reported once, and one that never ends is reported, too. Exits during which the VM was stopped do not count, nor do
 * halts.
 */
#ifndef HOSTRACE_TRIGGER_WATCH_H
#define HOSTRACE_TRIGGER_WATCH_H

#include <stdint.h>

#include "base/cleanup.h"
#include "event/event.h"
#include "pairing/analyzer.h"

enum { TRIGGER_NAME_MAX = 32 };

struct trigger_expression {
	char name[TRIGGER_NAME_MAX]; /* lower case letters, digits, '-': part of a file's name */
	const struct analyzer *analyzer; /* whose spans are too long; NULL: the VM's end */
	uint64_t min_ns;		 /* longer ones */
};

/*
 * "NAME>DURATION", where NAME is an analyzer whose spans have a duration or request-age (that of
 * virtqueue), or "vm-end": a condition (base/condition.h) of
 * this form; `option` is for messages. -EINVAL with the error message set.
 */
int trigger_parse(const char *option, const char *text, struct trigger_expression *ret);

/* Is it the name of a condition, without a duration? */
bool trigger_is_name(const char *name);

enum { TRIGGERS_MAX = 16 };

struct trigger_culprit {
	unsigned int which; /* expression */
	uint64_t start_ns, end_ns;
	bool open; /* it has not ended by end_ns */
	uint32_t pid, tid;
	uint16_t vcpu;
	char labels[160]; /* "reason=io"; "" if there are none */
};

/* Called by trigger_watch_round(). */
typedef void trigger_fn(void *arg, const struct trigger_culprit *c);

struct trigger_watch;

/* The expressions (at most TRIGGERS_MAX) are borrowed. NULL with the error message set. */
struct trigger_watch *trigger_watch_new(const struct trigger_expression *e, unsigned int nr,
					trigger_fn *fn, void *arg);
void trigger_watch_free(struct trigger_watch *w);
DEFINE_CLEANUP(trigger_watch, struct trigger_watch *, trigger_watch_free);

/* -ENOMEM with the error message set. */
int trigger_watch_record(struct trigger_watch *w, const struct record_hdr *rec);

/* Every record before watermark_ns has been given. -ENOMEM with the error message set. */
int trigger_watch_round(struct trigger_watch *w, uint64_t watermark_ns);

/*
 * What the thread of a dump's culprit did meanwhile: the call stack that it had for the longest time, of those that a
 * recording has (sched_holder, sched_stack).
 */

struct culprit_stacks;

/* NULL: out of memory, error message set. The culprit must outlive it. */
struct culprit_stacks *culprit_stacks_new(const struct trigger_culprit *c);
void culprit_stacks_free(struct culprit_stacks *s);

/* All events in order of time. */
void culprit_stacks_event(struct culprit_stacks *s, const struct event *ev);

/*
 * "inner;outer", and for how much of the culprit's time its thread had it. NULL: none lasted for a tenth of that.
 * Valid as long as `s`.
 */
const char *culprit_stacks_longest(struct culprit_stacks *s, uint64_t *ns);

#endif
