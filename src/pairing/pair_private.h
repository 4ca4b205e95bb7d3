/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals of pair.h: shared by pair.c (begin, end, loss) and pair_values.c (keys, labels, names). */
#ifndef HOSTRACE_PAIR_PRIVATE_H
#define HOSTRACE_PAIR_PRIVATE_H

#include "base/condition.h"
#include "pairing/elements.h"
#include "pairing/guest_tasks.h"
#include "model/loss_state.h"
#include "pairing/pair.h"

enum {
	ROLE_BEGIN = 1,
	ROLE_END = 2,
	ROLE_MARK = 4,
	ROLE_ELEMENTS = 8, /* elements.h looks at it */
	ROLE_FED = 16, /* the analyzer's own function gets it */
	ROLE_LOST = 32,
	ROLE_GAP = 128,
	ROLE_DEVICE = 64, /* virtio_device: names a vdev */
	ROLE_GUEST_TASK = 2048,
	ROLE_NESTED = 4096,    /* kvm_nested_vmexit, if the analyzer needs it */
	ROLE_REFLECTED = 8192, /* kvm_nested_vmexit_inject */
	ROLE_EXIT = 1024, /* kvm_exit: has the guest's instruction pointer */
	EXIT_RIPS = 4096, /* threads whose newest exit is remembered */
	KEYS_MAX = 2,	  /* besides the pid */
};

/* Levels of virtualization, as the kernel's documentation of nested guests numbers them. */
enum { LEVEL_HOST, LEVEL_GUEST, LEVEL_NESTED };

#define TEXT_OF_EVENTS UINT32_MAX /* instead of a pid: a text that is not a device's name */

/* Where a key or label comes from in one event type. */
enum source {
	FROM_FIELD,
	FROM_PID,
	FROM_VM, /* the pid, shown as the VM's name */
	FROM_TID,
	FROM_VCPU,
	FROM_CPU,
	FROM_DEVICE,
	FROM_DIR,
	FROM_PAGE,
	FROM_TEXT,
	FROM_GUEST_TASK, /* of a Linux guest, as the newest guest_task of the thread has it */
	FROM_EXIT_RIP, /* guest instruction pointer of the thread's newest kvm_exit */
	FROM_ACCESS,   /* the access that a kvm_exit was made for: `part` of it */
	FROM_LEVEL,    /* whose exit it is, see pair_nested() */
	FROM_HANDLER,
	FROM_NOTHING
};

/* What an exit has of an access: a place of one kind, its size, its direction. */
enum access_part { ACCESS_PORT, ACCESS_MSR, ACCESS_ADDR, ACCESS_PAGE, ACCESS_SIZE, ACCESS_DIR };

struct from {
	enum source source;
	enum access_part part;
	const struct field *field, *isa;
};

/* What the pairing needs of an event type. Made when its first event comes. */
struct binding {
	uint16_t roles;
	bool begins; /* named by analyzer.begin, whichever function handles it */
	struct from key[KEYS_MAX], label[SPAN_LABELS_MAX];
	const struct field *weight, *size, *duration, *skip_zero;
};

struct open_span {
	struct open_begin begin;
	struct loss_mark mark;
	struct span span; /* with nr_all labels, where the entry ends */
};

struct text {
	char *text;
	uint32_t older; /* number of the previous one of the same key; 0: none */
};

struct text_key {
	uint64_t key[2]; /* pid, vdev; of events' texts TEXT_OF_EVENTS, the text's hash */
	uint32_t newest;
};

/* Where a field of --where comes from: the span itself, or a label. */
struct where_source {
	enum where_from {
		WHERE_NS,
		WHERE_TIME,
		WHERE_END,
		WHERE_PID,
		WHERE_TID,
		WHERE_VCPU,
		WHERE_VM,
		WHERE_BYTES,
		WHERE_COUNT,
		WHERE_USERSPACE,
		WHERE_LABEL
	} from;
	unsigned int label;
};

struct pairing {
	const struct analyzer *a;
	span_fn *fn;
	void *arg;
	int err; /* of fn, sticky */
	struct binding *binding[EVENT_TYPES_MAX];
	struct label label[SPAN_LABELS_MAX];
	char names[SPAN_LABELS_MAX][EVENT_NAME_MAX];
	bool label_found[SPAN_LABELS_MAX];
	unsigned int nr_labels, nr_own /* of them the analyzer's */, nr_keys;
	unsigned int nr_all; /* labels with those that only --where asks for, which follow */
	const struct condition *where; /* of --where; NULL: all spans are selected */
	struct where_source where_source[CONDITION_FIELDS_MAX];
	char keys[KEYS_MAX][EVENT_NAME_MAX];
	struct open_table open; /* of struct open_span */
	struct pair_counts counts;
	const struct vm_names *vms; /* borrowed; NULL: none */
	struct text *text;
	unsigned int nr_text;
	struct hash_table text_keys;
	struct loss_state losses;
	struct elements *elements; /* of an analyzer that follows them; else NULL */
	struct element_watch watch;
	uint64_t nr_begins;
	uint64_t since_ns, until_ns;		    /* the time window */
	struct {
		uint32_t tid;
		uint64_t rip;
	} exit_rip[EXIT_RIPS]; /* by tid modulo EXIT_RIPS */
	struct guest_tasks guest_tasks;
	bool has_info, asks_info; /* a kvm_exit has an info1 that is not 0; a direction depends on one that is 0 */
};

/* Has the time window begun? Events from its end on are not looked at. */
static inline bool pair_in_window(const struct pairing *p, uint64_t ns)
{
	return ns >= p->since_ns;
}

/* Forgets all event types and what labels were found to be, as if it were just opened. */
void pairing_restart(struct pairing *p);

/* Binds an event type, once. NULL: out of memory. */
struct binding *pair_bind(struct pairing *p, const struct event_type *t);

/* Is there a label of this name? */
bool pair_groups_by(const struct pairing *p, const char *key);

/* The value of a key or label that is FROM_FIELD. */
static inline uint64_t pair_field(const struct event *ev, const struct from *f)
{
	return event_u64(ev, f->field) | (f->isa ? event_u64(ev, f->isa) << 32 : 0);
}

/* The value of a key or label in this event. */
uint64_t pair_value(struct pairing *p, const struct event *ev, const struct from *f);

/* Adds the labels that the condition asks for. -EINVAL with the error message set. */
int pair_where_bind(struct pairing *p, const struct condition *c);

/* Does --where select the span? */
bool pair_where_holds(const struct pairing *p, const struct span *s);

/* At the end: -EINVAL with the error message set if no span has a field of --where, or it is no number. */
int pair_where_check(const struct pairing *p);

/* Is it an exit of the analyzer's kind of access? */
bool pair_is_access(struct pairing *p, const struct event *ev);

/* Remember what later events refer to: a device's path, the guest instruction pointer of a thread's exit. */
void pair_device_learn(struct pairing *p, const struct event *ev);
void pair_rip_learn(struct pairing *p, const struct event *ev);

#endif
