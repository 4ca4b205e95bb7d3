/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report on a dump of record --trigger. */
#ifndef HOSTRACE_REPORTS_DUMP_H
#define HOSTRACE_REPORTS_DUMP_H

#include "trigger/watch.h"

enum { DUMP_MORE_MAX = 16 }; /* further triggers listed in a report */

/* What a dump is made for. */
struct dump_cause {
	struct trigger_culprit culprit;
	const char *name;			    /* part of the file names: "exit-latency" */
	uint64_t min_ns;			    /* its limit; 0: it has none */
	struct trigger_culprit more[DUMP_MORE_MAX]; /* others, up to the dump */
	uint64_t nr_more;
	uint64_t suppressed; /* triggers without a dump so far */
	uint64_t before_ns, after_ns;
};

/* The report on a dump, next to it: NAME.txt. In `line`: what happened, in one line. */
int dump_report(const char *dump, const char *path, const struct dump_cause *cause, char *line,
		size_t size);

/* The command to run on the dump, up to "-i". */
const char *dump_next(const struct dump_cause *cause);

/* ---- unusual.c: what differs from the time before split_ns ---- */

struct unusual;

/* NULL: out of memory, error message set. */
struct unusual *unusual_new(uint64_t split_ns);
void unusual_free(struct unusual *u);

/* All events in order of time. 0 or -errno with the error message set. */
int unusual_event(struct unusual *u, const struct event *ev);
int unusual_end(struct unusual *u);

void unusual_write(struct unusual *u, FILE *f);

#endif
