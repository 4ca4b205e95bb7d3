/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many spans at once, as columns; and who receives spans. */
#ifndef HOSTRACE_SPANS_H
#define HOSTRACE_SPANS_H

#include "pairing/analyzer.h"

enum { SPANS_BATCH = 1024 };

/*
 * Arrays of `nr` <= SPANS_BATCH, valid during the call that hands them over. All spans are of one thread; their order
 * has no meaning.
 */
struct spans {
	unsigned int nr;
	const uint64_t *ns;		    /* durations */
	const uint64_t *end_ns;		    /* NULL unless the fold wants them */
	const uint64_t *label[LABELS_MAX];  /* one for each label */
	const uint64_t *weight, *bytes;	    /* NULL: all 1; all 0 */
	const uint8_t *marked;		    /* NULL: none */
};

/*
 * Receives spans and folds them into a state. All functions but span() and spans() are called in the caller's thread,
 * and all return 0 or -errno.
 */
struct span_fold {
	void *arg;
	int (*open)(void *arg, void **ret_state); /* with the error message set */
	void (*close)(void *state);
	int (*span)(void *state, const struct span *s); /* in order of their ends */

	/*
	 * The same for many at once, each state by one thread at a time; and adding another state to one. Only if the
	 * order of spans has no influence on the result, or merge() fails where it has. NULL: no fast path.
	 */
	int (*spans)(void *state, const struct spans *s);
	int (*merge)(void *state, void *other);
	bool wants_ends; /* spans.end_ns */
};

#endif
