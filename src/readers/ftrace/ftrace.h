/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Linux's own trace, in the two parts that every way of carrying it has: event formats as tracefs has them in
 * events/SYSTEM/NAME/format, and pages as they are in the kernel's ring buffer (per_cpu/cpuN/trace_pipe_raw).
 *
 * A format's fields become a type's fields, at the same offsets after our record header, so a record is the header
 * and the kernel's bytes. Of a host, the events that hostrace takes itself (kvm_exit, kvm_pio, sched_switch, ...)
 * become those: their fields are moved by name, and every report works on them.
 */
#ifndef HOSTRACE_FTRACE_H
#define HOSTRACE_FTRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "event/event.h"

enum {
	FTRACE_PAGE_MAX = 1 << 20, /* bytes of a page */
	FTRACE_TYPE_BITS = 5,
	FTRACE_TYPE_PADDING = 29,
	FTRACE_TYPE_TIME_EXTEND,
	FTRACE_TYPE_TIME_STAMP,
};

struct ftrace_page {
	const uint8_t *at, *end;
	uint64_t time;
	uint64_t missed; /* events lost before this page; UINT64_MAX: some, not counted */
	bool damaged;	 /* a length led outside of the page: the rest is not read */
};

/*
 * A page of `size` bytes, whose `commit` field has commit_size bytes (4 or 8). -EBADMSG: it says that it holds more
 * than it can.
 */
int ftrace_page_open(struct ftrace_page *p, const uint8_t *data, size_t size, size_t commit_size);

/* The next event of any form. Use ftrace_page_next(). */
bool ftrace_page_next_any(struct ftrace_page *p, const uint8_t **ret, size_t *ret_len,
			  uint64_t *ret_time);

/* The next event: its bytes, their number, its time. False at the end. Nearly all have the short form. */
static inline bool ftrace_page_next(struct ftrace_page *p, const uint8_t **ret, size_t *ret_len,
				    uint64_t *ret_time)
{
	uint32_t head, words;

	if (p->end - p->at >= (ptrdiff_t)sizeof(head)) {
		memcpy(&head, p->at, sizeof(head));
		words = head & ((1u << FTRACE_TYPE_BITS) - 1);
		if (words - 1 < FTRACE_TYPE_PADDING - 1 &&
		    p->end - p->at >= (ptrdiff_t)(sizeof(head) + 4 * words)) {
			*ret = p->at + sizeof(head);
			*ret_len = 4 * words;
			*ret_time = p->time += head >> FTRACE_TYPE_BITS;
			p->at += sizeof(head) + 4 * words;
			return true;
		}
	}
	return ftrace_page_next_any(p, ret, ret_len, ret_time);
}

enum {
	FTRACE_FORMAT_MAX = 64 << 10,	/* bytes of one format; a longer one is skipped */
	FTRACE_COMMON = 8,		/* common_type, common_flags, common_preempt_count, common_pid */
};

/* ---- the format of an event ---- */

/* How a record is made of the kernel's entry: our header, then its bytes. */
struct ftrace_format {
	const struct event_type *type;
	struct {
		uint16_t place; /* offset of a dynamic text's word in the record */
		bool relative;	/* to the word's own end */
	} dyn[EVENT_FIELDS_MAX];
	uint16_t nr_dyn;
};

struct tep_event;
struct tep_handle;

/* Of a tracepoint of this host: its type is "SYSTEM:EVENT". -EBADMSG, -ENOMEM, ... with the error message set. */
int ftrace_format_read(const char *system, const char *text, size_t len, struct ftrace_format *ret);

/* The event's number; FTRACE_IDS: the text has none. */
unsigned int ftrace_text_id(const char *text);

/* A copy of the text without its print format; *ret_print: FTRACE_PRINT_*. NULL: out of memory. */
char *ftrace_text_take(const char *text, size_t len, unsigned int *ret_print);

/* Free with tep_free(), and *ret with it. NULL: it is not a format, or that of another event. */
struct tep_handle *ftrace_text_parse(const char *text, const char *system, int id,
				     struct tep_event **ret);

/* The type "PREFIX:EVENT". `ret` is zeroed. -ENOMEM, -E2BIG with the error message set. */
int ftrace_format_make(const char *prefix, const struct tep_event *event,
		       struct ftrace_format *ret);

/* The record holds the kernel's entry: makes the places of dynamic texts those of our records. */
void ftrace_format_move(const struct ftrace_format *f, uint8_t *record, size_t size);

/* ---- events ---- */

struct ftrace_events;
struct trace_info;

enum ftrace_side { FTRACE_HOST, FTRACE_GUEST };

/*
 * NULL: out of memory, with the error message set. `wants` as in struct read_hint, asked while the events live; or
 * NULL.
 */
struct ftrace_events *ftrace_events_new(enum ftrace_side side,
					bool (*wants)(const char *event, void *arg), void *arg);
void ftrace_events_free(struct ftrace_events *e);
DEFINE_CLEANUP(ftrace_events, struct ftrace_events *, ftrace_events_free);

/* Warns of what exceeded a limit; once, after the last event. */
void ftrace_events_caveats(const struct ftrace_events *e, struct trace_info *info);

/* Adds a format (copied). It is parsed at its first record. 0 or -ENOMEM. */
int ftrace_events_add(struct ftrace_events *e, const char *system, const char *text, size_t len);

/*
 * Makes our record of the kernel's: `entry` is one event of a page. Writes at most EVENT_RECORD_MAX bytes to `to` and
 * fills ev, time and source excepted. 1; 0: it is not wanted; -EBADMSG: the format is unknown or unusable.
 */
int ftrace_event_make(struct ftrace_events *e, const uint8_t *entry, size_t len, unsigned int cpu,
		      uint8_t *to, struct event *ev);

/*
 * A pass over many events counts them in slots: one for each id up to the highest with a format, and the last for all
 * others.
 */
unsigned int ftrace_events_slots(const struct ftrace_events *e);

/*
 * The same for such a pass: by slot, the offset of vcpu_id within the event, FTRACE_VCPU_BY_NAME for events of KVM that
 * do not name a vCPU of their own thread, 0 for all others. To be freed. NULL: out of memory, with the error message
 * set.
 */
uint16_t *ftrace_events_own_vcpus(struct ftrace_events *e);

enum { FTRACE_VCPU_BY_NAME = UINT16_MAX };

/* The thread has the name of this vCPU's thread, which counts in events of KVM until one of them names the vCPU. */
void ftrace_events_thread_named(struct ftrace_events *e, uint32_t tid, uint16_t vcpu);

enum { FTRACE_IDS = 1 << 16 }; /* events of one recording: common_type has 16 bits */

/*
 * After a first pass, whose events by slot, or by id, are given: from here on only the wanted events are made. `wants`
 * as in ftrace_events_new(), asked only within this call. Returns the number of events without a usable format.
 */
uint64_t ftrace_events_want(struct ftrace_events *e, const uint64_t *nr, unsigned int nr_slots,
			    bool (*wants)(const char *event, void *arg), void *arg);

/*
 * Adds the number of events by their type's registry index: those that are made, or all, whose types are registered in
 * the order of their first events then, as if they were read.
 */
void ftrace_events_count_made(const struct ftrace_events *e, const uint64_t *nr, uint64_t *counts);
int ftrace_events_count(struct ftrace_events *e, const uint64_t *nr, const uint64_t *first_time,
			uint64_t *counts);

/* Does an event of this name occur? */
bool ftrace_events_occurs(const struct ftrace_events *e, const uint64_t *nr, const char *name);

/* An integer of the kernel's event, as our record of it has it: `bytes` at `offset`, then the lowest `to_bytes`. */
struct ftrace_load {
	uint16_t offset;
	uint8_t bytes, to_bytes;
	bool is_signed, to_signed;
};

/* Is it made into this type of ours? */
bool ftrace_events_is(const struct ftrace_events *e, unsigned int id,
		      const struct event_type *type);

/* How to load a field of an event that is ours. bytes 0: the event lacks it, its value is 0. False: not a number. */
bool ftrace_events_load(const struct ftrace_events *e, unsigned int id, const struct field *field,
			struct ftrace_load *ret);

/* Name of the event whose record this is, "" if it has no format. */
const char *ftrace_event_name(struct ftrace_events *e, const uint8_t *entry, size_t len);

#endif
