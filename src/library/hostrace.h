/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libhostrace reads recordings of hostrace and every other trace that hostrace reads (trace.dat, perf.data, text of
 * tracefs, QEMU's logs, guest rings, OSv traces): the events that `hostrace list` prints, in that order.
 *
 *	struct hostrace_trace *t = hostrace_open("vm.hrt");
 *	const struct hostrace_event *ev;
 *	int more = t ? 1 : -1;
 *
 *	while (t && (more = hostrace_next(t, &ev)) > 0)
 *		printf("%" PRIu64 " %s\n", ev->time_ns, ev->name);
 *	if (more < 0)
 *		fprintf(stderr, "%s\n", hostrace_error());
 *	hostrace_close(t);
 *
 * Link with `pkg-config --libs libhostrace`.
 *
 * Stability: functions are neither removed nor changed without a new SONAME. struct hostrace_event is made by the
 * library only, and gets further members only at its end; so do the enums. Names of events and fields are those of
 * doc/events.md; programs must ignore those that they do not know.
 *
 * Threads: the library keeps a table of event types for the whole process, without a lock. Call it from one thread at a
 * time; error messages belong to the thread.
 *
 * Untrusted files: a reader returns an error for a damaged file, but the library does not confine the process as the
 * hostrace command does. Programs that read files of others should do that themselves. A file that becomes shorter
 * while it is read can end the process by SIGBUS. The library installs no signal handlers and prints nothing.
 */
#ifndef HOSTRACE_H
#define HOSTRACE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hostrace_trace;

struct hostrace_event {
	uint64_t time_ns;   /* CLOCK_MONOTONIC of the host; ticks if hostrace_in_ticks() */
	const char *name;   /* "kvm_exit", "guest:sched_switch", ... */
	const char *source; /* "host", "guest", "guest2", ... */
	const char *thread; /* name of the thread; "" if unknown */
	uint32_t pid, tid;
	int32_t cpu, vcpu;  /* -1: not recorded, no vCPU */
	uint32_t nr_fields;
};

enum hostrace_kind {
	HOSTRACE_UNSIGNED = 0,
	HOSTRACE_SIGNED = 1,
	HOSTRACE_TEXT = 2,
};

/* "0.1.0" */
const char *hostrace_version(void);

/*
 * Opens a trace, whose kind is recognized by its content, together with the guest traces that `record --guest` saved
 * with it. NULL: see hostrace_error().
 */
struct hostrace_trace *hostrace_open(const char *path);

/* The same with this guest's own trace instead; NULL: without any. */
struct hostrace_trace *hostrace_open_with_guest(const char *path, const char *guest);

/* NULL is fine. */
void hostrace_close(struct hostrace_trace *t);

/*
 * The next event: 1 and *event, which is valid until the next call with this trace; 0 at the end; a negative errno if
 * the trace cannot be read further, see hostrace_error().
 */
int hostrace_next(struct hostrace_trace *t, const struct hostrace_event **event);

/*
 * Field `i` of the event that hostrace_next() returned last, 0 <= i < nr_fields. After its end, and for fields that do
 * not exist, these return NULL or 0.
 */
const char *hostrace_field_name(const struct hostrace_trace *t, uint32_t i);
enum hostrace_kind hostrace_field_kind(const struct hostrace_trace *t, uint32_t i);

/* The position of the field of this name; -1: the event has none. */
int hostrace_field(const struct hostrace_trace *t, const char *name);

/* A number, sign-extended if the field is signed; 0 for text. */
uint64_t hostrace_field_number(const struct hostrace_trace *t, uint32_t i);

/*
 * The value as `hostrace list` prints it ("IO_INSTRUCTION" for a reason, "0x3f8" for a port), control characters
 * replaced. Valid until the next call with this trace.
 */
const char *hostrace_field_text(struct hostrace_trace *t, uint32_t i);

/* Are times ticks of a clock of unknown rate, and not nanoseconds? */
int hostrace_in_ticks(const struct hostrace_trace *t);

/* Events that the recorder could not store. Final once hostrace_next() has returned 0. */
uint64_t hostrace_lost(const struct hostrace_trace *t);

/* Note 0, 1, ... about the trace, e.g. that the file is truncated; NULL after the last. Final as hostrace_lost(). */
const char *hostrace_note(const struct hostrace_trace *t, uint32_t i);

/* Why the last call of this thread failed, with the file's name; "" if none did. Valid until the next failure. */
const char *hostrace_error(void);

#ifdef __cplusplus
}
#endif

#endif
