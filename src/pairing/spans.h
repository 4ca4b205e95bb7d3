/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Many spans at once, as columns: what the fast path (pairing/fast_path.h) hands to views. All are of one thread;
 * their order means nothing.
 */
#ifndef HOSTRACE_SPANS_H
#define HOSTRACE_SPANS_H

#include "pairing/analyzer.h"

enum { SPANS_BATCH = 1024 };

/* Arrays of `nr` <= SPANS_BATCH, valid during the call that hands them over. */
struct spans {
	unsigned int nr;
	const uint64_t *ns;		    /* durations */
	const uint64_t *end_ns;		    /* NULL unless the view asked for them */
	const uint64_t *label[LABELS_MAX];  /* one for each label */
	const uint64_t *weight, *bytes;	    /* NULL: all 1; all 0 */
	const uint8_t *marked;		    /* NULL: none */
};

#endif
