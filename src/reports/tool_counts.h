/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of another tool (readers/text/tool_table.h) as the rows of `exits` and `count`. */
#ifndef HOSTRACE_REPORTS_TOOL_COUNTS_H
#define HOSTRACE_REPORTS_TOOL_COUNTS_H

#include "output/report.h"
#include "readers/text/tool_table.h"

extern const struct table_def tool_counts_table;

/*
 * Writes it; rows are exit reasons if it has any, and for `events` the events. 0, or -errno with
 * the error message set.
 */
int tool_counts_write(const struct tool_table *t, const char *path, const char *command,
		      bool events, const struct output *out);

/* Notes on it: what it is, what it cannot say. Adds to an array of texts. */
void tool_counts_caveats(const struct tool_table *t, json_t *list);

#endif
