/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System calls of threads, from the events that have their begins and ends:
 *
 *	syscall_enter, syscall_exit	record --for syscalls
 *	sys_enter, sys_exit		raw_syscalls of trace.dat, perf.data: "NR 16 (1a, ae80, 0, ...)", "NR 16 = 0"
 *	sys_enter_read, sys_exit_read	syscalls: an event for each call; LTTng's syscall_entry_read
 *	sys_read			tracefs's text: "sys_read(fd: 3, ...)", "sys_read -> 0x10"
 *
 * A call without its begin, or without its end where events are missing, is not counted in any row.
 */
#ifndef HOSTRACE_SYSCALLS_ANALYZER_H
#define HOSTRACE_SYSCALLS_ANALYZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quantiles.h"
#include "event/event.h"

enum {
	SYSCALLS_ROWS_MAX = 1 << 16,
	SYSCALLS_THREADS_MAX = 1 << 16, /* that are in a call at once */
	SYSCALLS_NAMES_MAX = 4096,
	SYSCALLS_ERRORS = 8, /* different ones of a row; further ones are added up */
	SYSCALLS_CALL_BYTES = 200,
};

struct syscalls_row {
	uint32_t pid, tid; /* tid 0: of all threads */
	const char *name;  /* "read"; KVM_RUN, of which the time is the guest's, is "ioctl(KVM_RUN)" */
	char comm[17];	   /* of the thread; "": unknown */
	struct quantiles ns; /* of the calls that returned */
	uint64_t errors, in_progress; /* in_progress: at the end of the recording */
	struct {
		uint32_t number;
		uint64_t count;
	} error[SYSCALLS_ERRORS];
	uint64_t other_errors;
	char slowest[SYSCALLS_CALL_BYTES]; /* "read(fd: 3, buf: 0x7f...) = -EAGAIN" */
};

struct syscalls_notes {
	uint64_t no_begin;   /* ends of calls that began before, or whose begin is missing */
	uint64_t no_end;     /* the thread began another call */
	uint64_t unknown;    /* events were lost between begin and end */
	uint64_t unreadable; /* events without a number or a name */
	uint64_t refused;    /* beyond the limits */
};

struct syscalls;

/* NULL: no memory. */
struct syscalls *syscalls_new(bool by_tid);
void syscalls_free(struct syscalls *s);
bool syscalls_wants(const char *event, void *arg);

/* 0; -ENOMEM with the error message set. */
int syscalls_event(struct syscalls *s, const struct event *ev);

/*
 * After the last event: the rows, those with most time first. 0; -ENOMEM with the error message set. The array is to be
 * freed, what it points to belongs to the analyzer.
 */
int syscalls_rows(struct syscalls *s, struct syscalls_row ***ret, size_t *ret_nr);
void syscalls_notes(const struct syscalls *s, struct syscalls_notes *ret);

#endif
