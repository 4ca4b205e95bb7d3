/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Comparisons of recordings with the first one as a report: `hostrace diff`. */
#ifndef HOSTRACE_DIFF_REPORT_H
#define HOSTRACE_DIFF_REPORT_H

#include "analyzers/compare/compare.h"
#include "output/table.h"

extern const struct table_def diff_table;

/* What the table is made of: comparisons of one side, A, with each of the others. */
struct diff_table {
	const struct comparison *comparison;
	unsigned int nr;
	bool all; /* with figures that have not changed in any of them */
};

/* A row is a figure in one of the comparisons. What the table holds is borrowed. 0 or -ENOMEM with the message set. */
int diff_report_table(const struct diff_table *d, struct table *t);

/* "3 of 42 figures changed by more than 5 %". Returns buf; NULL: there is no figure. */
const char *diff_report_first_line(const struct diff_table *d, char *buf, size_t size);

/* The totals of one comparison: lengths, blocks, test. New reference. */
json_t *diff_report_totals(const struct comparison *c);

/* Which test this is, and what limits it: adds to an array of texts. */
void diff_report_caveats(const struct diff_table *d, bool explains, json_t *list);

#endif
