/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a report is empty: the filter that matches nothing, what the trace holds instead, and how to record what the
 * report is made of. Every report command uses this, in every format.
 */
#ifndef HOSTRACE_REPORTS_EMPTY_H
#define HOSTRACE_REPORTS_EMPTY_H

#include "output/report.h"

/* The `empty` of a struct report: prints lines of text, adds notes to JSON and HTML, or notes on stderr (CSV, SVG). */
void empty_explain(const struct report *r);

/* The same as an array of texts. New reference. */
json_t *empty_lines(const struct input_set *set, const struct report_needs *needs);

/* Adds them to the report's notes. */
void empty_add(struct report *r);

/* The same as notes, for reports whose text is that of another tool. `needs` may be NULL. */
void empty_note(const struct input_set *set, const struct report_needs *needs,
		void (*note)(const char *fmt, ...));

#endif
