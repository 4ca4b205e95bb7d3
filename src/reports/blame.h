/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parts of the report of what the time of exits went into, for others that read the same exits. */
#ifndef HOSTRACE_REPORTS_BLAME_H
#define HOSTRACE_REPORTS_BLAME_H

#include "reports/reports.h"

/* What is read: --vcpu, --tid, --reason select exits, as what other threads do is needed to explain them. */
enum { BLAME_READS = READ_ALL_VCPUS | READ_ALL_THREADS | READ_ALL_EVENTS | READ_BEFORE };

/* Do these options (struct input_options) select the exit? As struct blame_summary wants it. */
bool blame_exit_selected(void *options, const struct blame_exit *x);

/* Do they select all? Then it need not be asked. */
static inline bool blame_all_selected(const struct input_options *o)
{
	return !o->vcpus.nr && !o->tids.nr && !o->reasons.nr;
}

/* For the open inputs of r. NULL with the error message set: out of memory. */
struct blame *blame_begin(const struct result *r, const struct blame_sink *sink);

/* Writes a summary of `b`, after blame_end() and blame_summary_end(). 0 or -errno with the error message set. */
int blame_summary_write(const struct result *r, const struct blame *b,
			const struct blame_summary *s, const struct blame_query *q,
			const struct output *out);

#endif
