/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The relation of guests' clocks to the host's as a report: `hostrace sync`. */
#ifndef HOSTRACE_OUTPUT_CLOCK_REPORT_H
#define HOSTRACE_OUTPUT_CLOCK_REPORT_H

#include <jansson.h>
#include <stdio.h>

#include "clock/align.h"

struct clock_report_rows {
	json_t *rows; /* array of objects */
	struct clock_proof sum;
	unsigned int verdicts[CLOCK_VERIFIED + 1]; /* guests by their verdicts */
	uint64_t repaired;
};

/* Adds the rows of one guest. `source`: "host", "guest", "guest2". 0 or -ENOMEM with the error
 * message set. */
int clock_report_add(struct clock_report_rows *rows, const struct align *a,
		     const struct align_guest *g, const char *source);

/*
 * Writes a line about the guest's clock: the verdict of clock_verdict(), and the bound only if it is verified, in this
 * unit of time. All reports print this one.
 */
void clock_report_verdict(const struct align_guest *g, const char *unit, char *text, size_t size);

/* Adds why the verdict is not better; nothing if the relation is verified. `several`: names the guest's trace. */
void clock_report_unverified(const struct align_guest *g, bool several, json_t *caveats);

/* Adds what limits the proof of this guest. */
void clock_report_caveats(const struct align_guest *g, json_t *caveats);

/* The table, and what was checked (guests: there was a guest's trace to check). */
void clock_report_text(const struct clock_report_rows *rows, bool guests, const char *unit,
		       FILE *f);

/* Adds "rows" and "totals". */
void clock_report_json(const struct clock_report_rows *rows, json_t *answer);

#endif
