/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A timeline that is being drawn from the events of host and guests, in a time window. */
#ifndef HOSTRACE_REPORTS_DRAWING_H
#define HOSTRACE_REPORTS_DRAWING_H

#include "analyzers/timeline/timeline.h"
#include "event/thread_names.h"
#include "input/input_set.h"

enum { DRAWING_GUESTS_MAX = 256 };

struct drawing {
	/* Set by the caller: the open inputs, what is drawn to, names that know all events so far, the window. */
	const struct input_set *in;
	struct timeline *t;
	const struct thread_names *names;
	uint64_t until_ns;

	struct timeline_host *host;
	struct timeline_guest *guest[DRAWING_GUESTS_MAX];
};

/* 0 or -errno with the error message set. */
int drawing_open(struct drawing *d);
int drawing_event(struct drawing *d, const struct event *ev);

/* What is still on lasts until the window's end. */
void drawing_end(struct drawing *d);
void drawing_close(struct drawing *d);

#endif
