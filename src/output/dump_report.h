/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report on a dump of record --trigger, as text. */
#ifndef HOSTRACE_OUTPUT_DUMP_REPORT_H
#define HOSTRACE_OUTPUT_DUMP_REPORT_H

#include <stdio.h>

#include "analyzers/blame/blame.h"
#include "trigger/watch.h"

enum {
	DUMP_MORE_MAX = 16,    /* further triggers listed in a report */
	DUMP_UNUSUAL_MAX = 15, /* rows of what is unusual; further ones are counted */
	DUMP_WHO_BYTES = 200,
	DUMP_NEXT_BYTES = 96,
	DUMP_WHAT_BYTES = 160,
};

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

/* Before or since the culprit. */
struct dump_side {
	double per_second;
	bool has_longest; /* they have a duration, and there was one */
	uint64_t longest_ns;
};

/* What was found in a dump. */
struct dump_findings {
	const struct dump_cause *cause;
	uint64_t first_ns, last_ns; /* of its events */

	/* Paragraphs of `hostrace diagnose`, of the culprit's time, or, if it has none, of all of the dump. Owned. */
	char *diagnosis;

	/* What the culprit's thread is still in at the end of the dump; ns 0: nothing. */
	struct dump_part {
		enum blame_cause cause;
		char who[DUMP_WHO_BYTES];
		uint64_t ns;
	} now, longest; /* longest: that it was in without a change for the longest time */

	/* The longest in which the global mutex had a holder with a known stack; NULL: none. */
	struct dump_part held;
	const char *held_stack;

	const char *stack; /* of the culprit's thread, for stack_ns; NULL: none lasted */
	uint64_t stack_ns;

	bool compared; /* with the time before it, of which the dump has some */
	struct dump_unusual {
		struct dump_side before, since;
		char what[DUMP_WHAT_BYTES];
	} unusual[DUMP_UNUSUAL_MAX];
	size_t nr_unusual; /* in all */
};

/* "exit-latency 52.1ms > 5ms: vCPU 0 (tid 12), reason=io". Returns buf. */
const char *dump_line_print(const struct dump_cause *cause, char *buf, size_t size);

/* The command to run on the dump, up to "-i". A constant, or buf. */
const char *dump_next(const struct dump_cause *cause, char *buf, size_t size);

void dump_report_write(const struct dump_findings *f, const char *dump, FILE *out);

#endif
