/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An analyzer defines what is measured: a span from one event to another, or a point. It is a
 * declaration; where strings do not suffice, it is a function (`feed`). Add one: its file in src/analyzers/
 * and its line in src/analyzers/all.c. From its event names `record --for NAME` knows what to enable
 * and `doctor` what is missing.
 */
#ifndef HOSTRACE_ANALYZER_H
#define HOSTRACE_ANALYZER_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "event/exit_access.h"

enum {
	LABELS_MAX = 6,	   /* keys that spans can be grouped by at once */
	WHERE_LABELS_MAX = 6, /* further ones that --where asks for */
	SPAN_LABELS_MAX = LABELS_MAX + WHERE_LABELS_MAX,
	FALLBACKS_MAX = 2, /* of one analyzer */
};

static const uint64_t BYTES_UNKNOWN = UINT64_MAX;

/* One measurement. Valid during the call that passes it. */
struct span {
	uint64_t start_ns, end_ns; /* equal: a point without a duration */
	uint64_t weight; /* number of accesses it counts as: 1, or the count of a string I/O */
	uint64_t bytes;	 /* weight * size, where the analyzer has one; BYTES_UNKNOWN: the event has not */
	uint32_t pid, tid;
	uint16_t vcpu;
	bool marked; /* the analyzer's `mark` happened within it */
	bool nested, reflected; /* an exit of a nested guest (L2); which the guest (L1) handles, not KVM (L0) */
	uint64_t label[SPAN_LABELS_MAX]; /* values of the keys it is grouped by, see struct label */
};

struct pairing;
struct element;
enum element_end;

/* As struct element_watch; NULL: of no interest. */
struct analyzer_elements {
	void (*popped)(struct pairing *p, const struct event *ev);
	void (*left)(struct pairing *p, const struct element *el, enum element_end how,
		     const struct event *ev);
	void (*cleared)(struct pairing *p, const struct event *ev, uint64_t vdev, uint64_t queue);
};

/*
 * Names of events and fields are those of events.def; lists are comma-separated; NULL or false: none.
 * doc/howto-add-analyzer.md has an example.
 */
struct analyzer {
	const char *name, *summary;
	const char *caveat;	 /* printed with every result: what limits the figures */
	const char *explanation; /* what exactly is measured */

	/* What is a span. */
	const char *begin; /* events that open it */
	const char *end;   /* events that close it; NULL: begin is a point */
	const char *key;   /* what both must agree on: "tid", "vcpu", "pid" or fields of both */
	bool ends_repeat;  /* ends without a begin are normal */
	const char *skip_zero; /* begins whose field of this name is 0 are skipped */

	/* What is reported of it. */
	const char *by;	   /* keys that spans are grouped by unless --by is given */
	const char *mark;  /* event that marks the span open in its thread (userspace exit) */
	const char *weight, *size; /* fields of a point: how many accesses, bytes of one */
	const char *duration;	   /* field of a point: its own duration in ns */

	/* Of kvm_exit only those that an access of this kind made; what they do not contain is an unknown label. */
	enum exit_access_kind access;

	/*
	 * Where `begin` is not in the trace: the analyzers to use instead, the best first, and the note printed then,
	 * after "no BEGIN in this trace: " (NULL: none).
	 */
	struct {
		const char *name, *instead;
	} fallback[FALLBACKS_MAX];

	/* Where strings do not suffice: gets every event named here and calls pairing_begin() and so on. */
	void (*feed)(struct pairing *p, const struct event *ev);
	/* Further events that `feed` or the labels look at; kvm_nested_vmexit: for exits of nested guests. */
	const char *needs;

	/* Of virtqueue elements, whose lives follow the rules of elements.h: calls pairing_begin() and so on. */
	const struct analyzer_elements *elements;
};

extern const struct analyzer *const analyzers[]; /* ends with NULL */

/* An analyzer made from "pair:BEGIN,END,KEY[,KEY]", or of an event. */
struct pair_analyzer {
	struct analyzer a;
	char name[512], words[512];
	char begin[1032], end[1032]; /* of events that may be a guest's */
};

/*
 * By name; "pair:BEGIN,END,KEY", and one that counts the events of a name, are made in *own (NULL: neither), which
 * must live as long as it is used. NULL with the error message set ("did you mean") if there is none.
 */
const struct analyzer *analyzer_find(const char *name, struct pair_analyzer *own);

/* Its fallback 0, 1, ..., or NULL. */
const struct analyzer *analyzer_fallback(const struct analyzer *a, unsigned int i);

/*
 * Checks events and keys of one that was made, after the trace was read, as guests' events are only known then.
 * -EINVAL with the error message set ("did you mean").
 */
int analyzer_resolve(const struct analyzer *a);

/* Does the analyzer look at this event (begin, end, mark, needs, elements)? And at any event of a guest? */
bool analyzer_wants(const struct analyzer *a, const char *event);
bool analyzer_wants_guests(const struct analyzer *a);

/* Does it look at events of this id, a lost one's (0: unknown)? */
bool analyzer_loses(const struct analyzer *a, uint64_t lost_event);

/* Is `name` one of the comma-separated names in list (NULL: no)? */
bool name_in_list(const char *list, const char *name);

#endif
