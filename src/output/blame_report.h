/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What exits' time went into, as a report: `hostrace blame`. */
#ifndef HOSTRACE_BLAME_REPORT_H
#define HOSTRACE_BLAME_REPORT_H

#include "analyzers/blame/summary.h"
#include "event/vm_names.h"
#include "output/table.h"
#include "symbols/symbols.h"

struct blame_report {
	const struct blame_summary *summary; /* after blame_summary_end() */
	const struct blame_counts *counts;
	const struct blame *blame; /* for its stacks */
	struct addresses *symbols; /* of the guest; NULL: none */
	const struct vm_names *vms; /* borrowed; NULL: there is one VM */
	char *const *around;   /* of each exit that is kept: events, as text or JSON objects; NULL: none */
	const uint64_t *left_out;   /* ... and how many are not among them */
	bool across; /* folded stacks are compared with another recording's: no thread ids and addresses of locks */
	uint64_t start_ns;	    /* of the report: times in text count from it */
	const struct condition *where; /* --where; NULL: not given */
};

/* What limits these figures: an array; new reference. */
json_t *blame_report_caveats(const struct blame_report *r);

/* "33915 exits took 1.23s": valid until the next call with this buf. */
const char *blame_report_first_line(const struct blame_report *r, char *buf, size_t size);

extern const struct table_def blame_causes_table, blame_groups_table, blame_exits_table;

/* A row is a cause with what it names; or a group of exits with its causes. 0 or -ENOMEM with the error message set. */
int blame_report_totals(const struct blame_report *r, struct table *t);
int blame_report_groups(const struct blame_report *r, struct table *t);

/*
 * "GROUP;CAUSE;WHAT NS", one line each, with what a mutex's holder did as further frames, for flame graphs. 0 or
 * -ENOMEM with the error message set.
 */
int blame_report_folded(const struct blame_report *r, FILE *f);

/* "0.123 vCPU 0 IO_INSTRUCTION at outb took 72.4ms". Returns buf. */
const char *blame_exit_print(const struct blame_report *r, const struct blame_exit *x, char *buf,
			     size_t size);

/* The longest exits as a picture. */
void blame_report_svg(const struct blame_report *r, FILE *f);

/* The longest exits, each with its parts. */
void blame_report_list(const struct blame_report *r, FILE *f);

/* {"totals":{},"causes":[],"groups":[],"rows":[]}, see doc/man/hostrace-blame.1.scd; new reference. NULL: no memory. */
json_t *blame_report_json(const struct blame_report *r);

#endif
