/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostrace diff: what it compares, and how that is read from a recording. */
#ifndef HOSTRACE_COMMANDS_DIFF_H
#define HOSTRACE_COMMANDS_DIFF_H

#include <jansson.h>

#include "analyzers/compare/series.h"
#include "input/input_set.h"
#include "readers/text/tool_table.h"

/* A kind of key: what of a recording is measured, and by which key. */
struct diff_kind {
	const char *by;
	const char *analyzer, *keys; /* spans of this analyzer, grouped by these keys; or */
	int (*read)(const struct input_options *options, struct series_set **ret);
	bool rate, latency; /* which figures it has */
	bool tables;	    /* it is compared if one of both is a table of another tool */
};

extern const struct diff_kind diff_kinds[]; /* ends with by == NULL */

/*
 * Measures one recording; the set is opened once more. *ret is NULL if it has none of the events. *ret_analyzer: the
 * one that was used, NULL if none.
 */
int diff_read(const struct diff_kind *kind, struct input_set *in, unsigned int jobs,
	      struct series_set **ret, const char **ret_analyzer);

/* `in` was read to its end: notes its length, and gives the series their keys. 0 or -ENOMEM. */
int diff_series_end(struct series_set *s, const struct input_set *in, series_name_fn *name,
		    void *arg);

/* A table's rows of a kind; *ret is NULL if it has none. */
int diff_read_table(const struct diff_kind *kind, const struct tool_table *t,
		    struct series_set **ret);
int diff_read_counts(const struct input_options *options, struct series_set **ret);

/*
 * An event that a table does not have was not counted, which is not 0: keeps the events that both have. Returns how
 * many only one had.
 */
unsigned int diff_counts_common(struct series_set *a, struct series_set *b);

/* Kinds that are no analyzer's. */
int diff_read_causes(const struct input_options *options, struct series_set **ret);
int diff_read_stages(const struct input_options *options, struct series_set **ret);
int diff_read_requests(const struct input_options *options, struct series_set **ret);
int diff_read_tasks(const struct input_options *options, struct series_set **ret);

#endif
