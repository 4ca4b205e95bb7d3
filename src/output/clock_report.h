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
};

/* Adds the rows of one guest. `source`: "host", "guest", "guest2". 0 or -ENOMEM with the error
 * message set. */
int clock_report_add(struct clock_report_rows *rows, const struct align *a,
		     const struct align_guest *g, const char *source);

/* Adds what limits the proof of this guest. */
void clock_report_caveats(const struct align_guest *g, json_t *caveats);

/* The table, and what was checked (guests: there was a guest's trace to check). */
void clock_report_text(const struct clock_report_rows *rows, bool guests, const char *unit,
		       FILE *f);

/* Adds "rows" and "totals". */
void clock_report_json(const struct clock_report_rows *rows, json_t *answer);

#endif
