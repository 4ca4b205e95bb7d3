/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of an answer that have a file of their own. */
#ifndef HOSTRACE_BROWSE_ANSWERS_H
#define HOSTRACE_BROWSE_ANSWERS_H

#include "browse/internal.h"

/*
 * {"from_ns", "to_ns", "resolution_ns", "exact", "not_drawn",
 *  "lost": [[from, to, count or null, CPU or null, event or null]...], "names": [text...],
 *  "tracks": [{"id", "slices": [start, ns, kind, name...], "bands": [start, ns, kind, count, longest ns, name...],
 *		"sums": [kind, ns, count...]}...]}
 *
 * Kinds are indices of the list in /tracks, names of that list.
 */
int browse_window_json(const struct browse *b, const struct browse_window *w,
		       struct browse_answer *ret);

/* What `hostrace import` writes of a set that is not open. 0 or -errno with the error message set. */
int browse_export(struct input_set *set, struct browse_answer *ret);

struct browse_report_def {
	const char *name; /* of the command */
	const struct report_ops *ops;
	const void *of;
};

/* NULL: there is none. */
const struct browse_report_def *browse_report_find(const char *name);

#endif
