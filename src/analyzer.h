/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An analyzer says what is measured: a span from this event to that one, or a point. It is a
 * declaration; what strings cannot say is a function (`feed`). Add one: its file in src/analyzers/
 * and its line in src/analyzers/all.c. Its event names also tell `record --for NAME` what to enable
 * and `doctor` what is missing.
 */
#ifndef HOSTRACE_ANALYZER_H
#define HOSTRACE_ANALYZER_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

enum { LABELS_MAX = 6 }; /* keys that spans can be grouped by at once */

/* What was measured once. Valid during the call that hands it over. */
struct span {
	uint64_t start_ns, end_ns; /* equal: a point without a duration */
	uint64_t weight; /* how many accesses it stands for: 1, or the count of a string I/O */
	uint64_t bytes;	 /* weight * size, where the analyzer has one */
	uint64_t label[LABELS_MAX]; /* values of the keys it is grouped by, see struct label */
	uint32_t pid, tid;
	uint16_t vcpu;
	bool marked; /* the analyzer's `mark` happened within it */
};

struct pairing;

struct analyzer {
	const char *name, *summary;
	const char *begin; /* events that open a span, comma-separated */
	const char *end;   /* events that close it; NULL: begin is a point */
	const char *mark;  /* event that marks the span open in the same thread (userspace exit); or
			      NULL */
	const char
		*reset; /* events that end everything open of their VM without a result; or NULL */
	const char *needs; /* further events that `feed` or the labels look at; or NULL */
	const char *key;   /* what begin and end must agree on: "tid", "vcpu", "pid" or fields of
			      both, comma-separated */
	const char *by;	   /* keys that spans are grouped by unless --by says otherwise */
	const char *weight, *size,
		*duration;  /* fields of a point: accesses, bytes of one, its own duration in ns */
	bool keep_first;    /* a second begin of the same key does not replace the first, and further
			       ends are normal */
	const char *caveat; /* printed with every result: what exactly is measured */
	const char *fallback; /* the analyzer to use where `begin` is not in the trace; or NULL */
	const char *fallback_caveat;

	const char *skip_zero; /* a begin whose field of this name is 0 is left out; or NULL */

	/* Instead of all the above: gets every event that it names and calls pairing_open_span()
	 * and so on. */
	void (*feed)(struct pairing *p, const struct event *ev);
};

extern const struct analyzer *const analyzers[]; /* ends with NULL */

/*
 * By name; "pair:BEGIN,END,KEY" makes one. NULL with the sentence set ("did you mean") if there is
 * none.
 */
const struct analyzer *analyzer_find(const char *name);

/*
 * Are the events and keys of a "pair:..." known, now that the trace was read? -EINVAL with the
 * sentence set ("did you mean"). Guests' events come with the trace, so this cannot be asked before.
 */
int analyzer_resolve(const struct analyzer *a);

/* Does the analyzer look at this event (begin, end, mark, reset, needs)? */
bool analyzer_wants(const struct analyzer *a, const char *event);

/* Is `name` one of the comma-separated names in list (NULL: no)? */
bool name_in_list(const char *list, const char *name);

#endif
