/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs begins and ends into spans. Open begins are kept in a bounded table; those that never end are counted. Spans
 * are never guessed: a second begin replaces the first; what is open when events are lost is dropped as unknown.
 */
#ifndef HOSTRACE_PAIR_H
#define HOSTRACE_PAIR_H

#include "base/cleanup.h"
#include "pairing/analyzer.h"
#include "pairing/open_table.h"

enum {
	OPEN_SPANS_MAX = 65536, /* spans open at once */
	INTERNED_MAX = 16384,	/* distinct texts among labels (device paths): as many as groups */
};

/* One key that spans are grouped by. */
struct label {
	const char *name; /* "reason", "vcpu", "rip", ... */
	const char *fmt;  /* printer of event.h; "text": the value is an interned text */
	bool may_lack;	  /* LABEL_UNKNOWN: the event does not contain it */
	bool page;	  /* an address cut to its 4 KiB page */
};

#define LABEL_UNKNOWN EXIT_ACCESS_UNKNOWN

static inline bool label_is_unknown(const struct label *l, uint64_t value)
{
	return l->may_lack && value == LABEL_UNKNOWN;
}

struct condition;
struct vm_names;

struct pair_counts {
	uint64_t spans;
	uint64_t unmatched_begin; /* a second begin came before the end */
	uint64_t unmatched_end;
	uint64_t unknown;  /* dropped because events were lost while it was open */
	uint64_t gaps;	   /* not counted: events may be missing within, on the CPU that began or ended it */
	uint64_t overflow; /* not begun: OPEN_SPANS_MAX were open */
	uint64_t open;	   /* still open at the end */
	uint64_t dropped;  /* ended by pairing_drop() */
	uint64_t not_selected; /* by --where; not in `spans` */
	uint64_t before;   /* of `spans`: began before the time window, counted whole */

	uint64_t nested, reflected; /* of `spans`: as struct span has it */
	uint64_t nested_events, injects; /* so many kvm_nested_vmexit, ..._inject; 0: not recorded, or none */

	/* Of a point whose event lacks the field: not counted without a duration; one access without their number. */
	uint64_t no_duration, no_weight;

	/* Of an analyzer of accesses: exits of REP instructions; exits that contain neither place nor size. */
	uint64_t repeated, unqualified;
};

typedef int span_fn(void *arg, const struct span *s);

/*
 * `by` adds keys to the analyzer's own; "=KEYS" replaces them. A key is vm, pid, tid, vcpu, cpu, device, dir, page,
 * addr, or a field of the begin event. Of kvm_exit also port, size, dir, msr, page and addr: what the exit itself
 * contains of the access that made it, see event/exit_access.h. Of exit-latency also level (L1, L2: whose exit it is)
 * and handler (L0, L1). Every span goes to fn, which returns 0 or -errno to stop. -EINVAL with the error message set:
 * too many keys.
 */
int pairing_open(const struct analyzer *a, const char *by, span_fn *fn, void *arg,
		 struct pairing **ret);

/*
 * For a trace of several VMs: `by` with the key "vm" added where a group would otherwise add up vCPUs or devices of
 * different VMs; `always`: unless a key implies the VM anyway. Made in buf, or `by` itself.
 */
const char *pairing_by_vm(const struct analyzer *a, const char *by, bool always, char *buf,
			  size_t size);

void pairing_close(struct pairing *p);
DEFINE_CLEANUP(pairing, struct pairing *, pairing_close);

/*
 * Only spans that end in [since_ns, until_ns) are passed on and counted; what is open then is from the events before.
 * To be called before the first event.
 */
void pairing_window(struct pairing *p, uint64_t since_ns, uint64_t until_ns);

/*
 * --where: only spans that the condition holds for are passed on; the others are counted. Its fields are ns, time_ns,
 * end_ns, pid, tid, vcpu, vm, bytes, count, userspace, and what `by` may name ("guest_task" is "guest-task"). To be
 * called before the first event; the condition must live as long. -EINVAL with the error message set.
 */
int pairing_where(struct pairing *p, const struct condition *c);

/* The fields of a condition that pairing_needs_before() and pairing_wants() have to know: as `by`, in buf. */
const char *pairing_where_keys(const struct condition *c, const char *by, char *buf, size_t size);

/* Feeds one event: 0, or what fn returned. Those from until_ns on are ignored. */
int pairing_event(struct pairing *p, const struct event *ev);

/* After the last event: counts what is open. -EINVAL with the error message set: no begin event has a key in `by`. */
int pairing_end(struct pairing *p);

/*
 * Passes the spans that are open to fn, as if they ended at end_ns, oldest first; not those whose end may be lost.
 * They are not counted. 0, or what fn returned.
 */
int pairing_open_spans(struct pairing *p, uint64_t end_ns);

const struct pair_counts *pairing_counts(const struct pairing *p);
const struct label *pairing_labels(const struct pairing *p, unsigned int *ret_nr);

/* Names for the values of the key "vm". Must live as long as the pairing; NULL: none are known. */
void pairing_set_vms(struct pairing *p, const struct vm_names *vms);

/* The text of a label's value, for people and for JSON; buf is used if it must be made. */
const char *pairing_label_text(const struct pairing *p, unsigned int i, uint64_t value, char *buf,
			       size_t size);

/* Do its spans depend on events from before the time window? */
bool pairing_needs_before(const struct analyzer *a, const char *by);

/* Must such a pairing be fed with this event? Also with those that the analyzer does not look at: losses, names. */
bool pairing_wants(const struct analyzer *a, const char *by, const char *event);

/* ---- for analyzers' `feed` ---- */

/* Opens a span under the key with the labels of ev. */
void pairing_begin(struct pairing *p, const struct event *ev, struct pair_key key);

/* Closes it: it goes to the view. False: nothing was open. */
bool pairing_finish(struct pairing *p, const struct event *ev, struct pair_key key);

bool pairing_is_open(struct pairing *p, struct pair_key key);

/* It ends without a result, if it is open: ev reset its device, or undid its begin. */
void pairing_drop(struct pairing *p, const struct event *ev, struct pair_key key);

/* The same for all that are open under this key; word 2 UINT64_MAX: any. */
void pairing_drop_all(struct pairing *p, const struct event *ev, struct pair_key key);

#endif
