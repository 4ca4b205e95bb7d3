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

#include "base/cleanup.h"
#include "event/event.h"
#include "trigger/expression.h"

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

#endif
