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

#include "base/cleanup.h"
#include "event/event.h"

enum {
	FTRACE_PAGE_MAX = 1 << 20,	/* bytes of a ring buffer's page */
	FTRACE_FORMAT_MAX = 64 << 10,	/* bytes of one format; a longer one is skipped */
	FTRACE_COMMON = 8,		/* common_type, common_flags, common_preempt_count, common_pid */
};

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
 * The vCPU that a host's event names as its own thread's (kvm_entry, kvm_exit, ...) and that thread, without making the
 * event; RECORD_NO_VCPU for all others.
 */
uint16_t ftrace_event_own_vcpu(struct ftrace_events *e, const uint8_t *entry, size_t len,
			       uint32_t *ret_tid);

/* Name of the event whose record this is, "" if it has no format. */
const char *ftrace_event_name(struct ftrace_events *e, const uint8_t *entry, size_t len);

/* ---- pages ---- */

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

/* The next event: its bytes, their number, its time. False at the end. */
bool ftrace_page_next(struct ftrace_page *p, const uint8_t **ret, size_t *ret_len,
		      uint64_t *ret_time);

#endif
