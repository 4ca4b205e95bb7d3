/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A comparison of two recordings as a report: `hostrace diff`. */
#ifndef HOSTRACE_DIFF_REPORT_H
#define HOSTRACE_DIFF_REPORT_H

#include "analyzers/compare/compare.h"
#include "output/table.h"

extern const struct table_def diff_table;

/* A row is a figure; `all`: also of those that have not changed. */
int diff_report_table(const struct comparison *c, bool all, struct table *t);

/* "3 of 42 figures changed by more than 5 %". Returns buf. */
const char *diff_report_first_line(const struct comparison *c, char *buf, size_t size);

/* The totals: lengths, blocks, test. New reference. */
json_t *diff_report_totals(const struct comparison *c);

/* Which test this is, and what limits it: adds to an array of texts. */
void diff_report_caveats(const struct comparison *c, bool all, bool explains, json_t *list);

#endif
