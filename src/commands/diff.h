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
	int (*read)(struct input_set *in, struct series_set **ret);
	bool rate, latency; /* which figures it has */
	bool guests;	    /* looks at guests' events */
};

extern const struct diff_kind diff_kinds[]; /* ends with by == NULL */

/*
 * Measures one recording; the set is opened, once for each kind. *ret is NULL if it has none of the events.
 * *ret_analyzer: that which was used, NULL if none.
 */
int diff_read(const struct diff_kind *kind, struct input_set *in, unsigned int jobs,
	      struct series_set **ret, const char **ret_analyzer);

#endif
