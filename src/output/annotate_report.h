/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The instructions of a function with their samples, as a report: `hostrace annotate`. */
#ifndef HOSTRACE_ANNOTATE_REPORT_H
#define HOSTRACE_ANNOTATE_REPORT_H

#include "analyzers/profile/annotate.h"
#include "output/table.h"

extern const struct table_def annotate_table;

/* 0 or -ENOMEM with the error message set. */
int annotate_report_rows(const struct annotate *a, struct table *t);

/* {"functions": [...], "samples": N, "all_samples": N}: a new reference. */
json_t *annotate_report_functions(const struct annotate *a);

void annotate_report_caveats(const struct annotate *a, json_t *list);

/* Which function, and how many of the samples are in it. Returns buf. */
const char *annotate_report_line(const struct annotate *a, char *buf, size_t size);

#endif
