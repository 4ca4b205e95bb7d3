/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hostrace diff: what it compares, and how that is read from a recording. */
#ifndef HOSTRACE_COMMANDS_DIFF_H
#define HOSTRACE_COMMANDS_DIFF_H

#include <jansson.h>

#include "analyzers/compare/series.h"
#include "input/input_set.h"

/* A kind of key: what of a recording is measured, and by which key. */
struct diff_kind {
	const char *by;
	const char *analyzer, *keys; /* spans of this analyzer, grouped by these keys; or */
	int (*read)(const struct input_options *options, struct series_set **ret);
	bool rate, latency; /* which figures it has */
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

/* Kinds that are no analyzer's. */
int diff_read_causes(const struct input_options *options, struct series_set **ret);
int diff_read_stages(const struct input_options *options, struct series_set **ret);
int diff_read_requests(const struct input_options *options, struct series_set **ret);
int diff_read_tasks(const struct input_options *options, struct series_set **ret);

#endif
