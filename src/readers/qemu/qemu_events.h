/* SPDX-License-Identifier: GPL-2.0-or-later */
/* QEMU's trace events (its trace-events files; -trace, -d trace:) and what they are here. */
#ifndef HOSTRACE_QEMU_EVENTS_H
#define HOSTRACE_QEMU_EVENTS_H

#include "base/hash.h"
#include "event/reader.h"
#include "event/records.h"
#include "readers/text/text_line.h"

enum {
	QEMU_NAMES_MAX = 4096,
	QEMU_QUEUES_MAX = 1 << 16,
	QEMU_TIDS_MAX = 1 << 12,
	QEMU_RECORD_MAX = 512,	    /* bytes of a record, with its header */
	QEMU_VCPU_TID = 0x40000000, /* + vCPU: number of its thread in a log without threads */
};

struct qemu_event; /* one that is known */
enum qemu_special { QEMU_PLAIN, QEMU_IOCTL, QEMU_CHECKPOINT, QEMU_SAVED, QEMU_LOADED };

struct qemu_name {
	char *name; /* owned */
	uint32_t len;
	bool wanted;
	const struct qemu_event *special; /* ours with some arguments; NULL: no */
	const struct qemu_event *known; /* NULL: "qemu:NAME" */
	const struct event_type *type;
	struct event_shapes shapes; /* of a known one, by the fields that its events have */
};

struct qemu_events {
	struct qemu_name name[QEMU_NAMES_MAX];
	uint32_t nr_names;
	struct hash_index by_name;
	struct hash_table queues, tids;
	bool tids_are_pids; /* several vCPUs have one number: it is not a thread's, but the process's */
	bool binary; /* arguments are numbers, not text */
	bool has_vcpu_tids; /* threads were numbered by vCPUs, see QEMU_VCPU_TID */
};

void qemu_events_init(struct qemu_events *e, bool binary);
void qemu_events_deinit(struct qemu_events *e);

/* NULL: too many names, or no memory. `hint` as in open(); NULL: everything is wanted. */
struct qemu_name *qemu_event_name(struct qemu_events *e, struct text_slice name,
				  const struct read_hint *hint);

/* Before all lines are read: an event's number, and the vCPU that its arguments may name. */
void qemu_tid_learn(struct qemu_events *e, uint32_t tid, struct text_slice args);

/* Is it an event that becomes one of ours? */
bool qemu_event_is_known(struct text_slice name);
bool qemu_event_is_read(struct text_slice name); /* or has a meaning without a type of ours */
/* Is it the beginning of a known event's name, or its end? */
bool qemu_event_is_part(struct text_slice name, bool end);

/*
 * How many of the arguments that are read of this event its line has, and how many QEMU prints; none of an event that
 * becomes no event of ours.
 */
struct qemu_args {
	unsigned int found, all;
	bool has_last;	   /* the last of them: nothing was cut off */
	bool last_is_open; /* ... but its value is the text's end */
};
struct qemu_args qemu_args_of(struct text_slice name, struct text_slice text);

/* What precedes the arguments. */
struct qemu_head {
	uint64_t time_ns;
	uint32_t pid, tid; /* 0: unknown */
};

/*
 * Makes the record of an event: at most QEMU_RECORD_MAX bytes at `to`. The arguments are the text after the name, which
 * a newline follows ("vq 0x1 len 2", or "vq=0x1 len=0x2" of simpletrace.py), or simpletrace's binary arguments.
 */
void qemu_event_make(struct qemu_events *e, struct qemu_name *n, struct qemu_head head,
		     struct text_slice args, uint8_t *to, struct event *ev);

/*
 * QEMU logs how long the VM's RAM was written, or a device was loaded, when that is over: the time before the event at
 * which it began, and that begin as an event; 0: it is another event.
 */
uint64_t qemu_step_begin(const struct qemu_name *n, struct text_slice args, uint64_t *ret_step);
void qemu_step_make(struct qemu_head head, uint64_t step, uint8_t *to, struct event *ev);

#endif
