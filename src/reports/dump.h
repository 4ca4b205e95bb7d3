/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a dump of record --trigger shows: its report, and what that is made of. */
#ifndef HOSTRACE_REPORTS_DUMP_H
#define HOSTRACE_REPORTS_DUMP_H

#include "output/dump_report.h"

/* The report on a dump, in the new file `path`. In `line`: what happened. -errno with the error message set. */
int dump_report(const char *dump, const char *path, const struct dump_cause *cause, char *line,
		size_t size);

/* ---- unusual.c: what differs from the time before split_ns ---- */

struct unusual;

/* NULL: out of memory, error message set. */
struct unusual *unusual_new(uint64_t split_ns);
void unusual_free(struct unusual *u);

/* All events in order of time. 0 or -errno with the error message set. */
int unusual_event(struct unusual *u, const struct event *ev);
int unusual_end(struct unusual *u);

/* Sets what was compared, and what of it was unusual. -ENOMEM with the error message set. */
int unusual_find(struct unusual *u, struct dump_findings *f);

#endif
