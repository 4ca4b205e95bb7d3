/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `hostrace diff` measures of a recording, as series of measurements by key (analyzers/compare/series.h). A kind
 * is a report that is not written: the spans of an analyzer, folded by a view, or a report of this module.
 */
#ifndef HOSTRACE_REPORTS_SERIES_H
#define HOSTRACE_REPORTS_SERIES_H

#include "analyzers/compare/series.h"
#include "readers/text/tool_table.h"
#include "reports/reports.h"

struct series_state;

struct series_kind {
	const char *by;
	const char *analyzer, *keys; /* spans of this analyzer, grouped by these keys; or: */
	unsigned int reads; /* READ_... */
	bool (*wants)(const char *event, void *arg);
	int (*open)(struct series_state *s, const struct result *r);
	int (*event)(struct series_state *s, const struct event *ev);
	int (*end)(struct series_state *s); /* or NULL */
	series_name_fn *name; /* its arg: the state */
	unsigned int nr_labels;
	bool rate, latency; /* which figures it has */
	bool tables; /* it is compared if one of both is a table of another tool */
	enum tool_row_of rows; /* ... of these rows */
};

enum { SERIES_KINDS = 9, SERIES_OF_EVENTS = 1 };
extern const struct series_kind series_kinds[SERIES_KINDS];

/* A kind's report on one recording. */
struct series_report {
	const struct series_kind *kind;
	struct view view;
	struct spans_query spans;
	struct query query;
	struct result result;
	struct series_set *set; /* NULL: the recording has none of the events */
	const char *analyzer;	/* the one that was used, NULL if none */
};

/* The query's command and input are set. Then result_init() of reports_run() of s->result; closed in any case. */
int series_report_init(struct series_report *s, const struct series_kind *kind, unsigned int jobs);

/* After reports_run(): sets s->set. 0 or -errno with the error message set. */
int series_report_end(struct series_report *s);
void series_report_close(struct series_report *s);

/* Instead of all that: of a table's rows. 0 or -errno with the error message set. */
int series_report_table(struct series_report *s, const struct series_kind *kind,
			const struct tool_table *t);

/*
 * An event that a table does not have was not counted, which is not 0: keeps the events that both have. Returns how
 * many only one had.
 */
unsigned int series_keep_common(struct series_set *a, struct series_set *b);

/*
 * What an incomplete table lacks is not 0: drops series of `s` that the other one lacks, but not from its total.
 * Returns how many.
 */
unsigned int series_drop_unknown(struct series_set *s, const struct series_set *incomplete);

#endif
