/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an event says of a system call: for the files of this folder. */
#ifndef HOSTRACE_SYSCALLS_INTERNAL_H
#define HOSTRACE_SYSCALLS_INTERNAL_H

#include "analyzers/syscalls/syscalls.h"

enum { SYSCALL_ARGS = 6, SYSCALL_NAME_BYTES = 48 };

/* What events of a type are. */
struct syscall_kind {
	enum { SYSCALL_UNSEEN, SYSCALL_NONE, SYSCALL_ENTER, SYSCALL_EXIT, SYSCALL_EITHER } what;
	const char *name; /* of the call; NULL: its number is in the event */
	const struct field *id, *ret, *text, *arg[SYSCALL_ARGS];
	unsigned int nr_args;
};

struct syscall_seen {
	bool enters;
	bool any; /* an end whose number the kernel had forgotten (-1) ends any call */
	bool is_raw; /* of the events that all calls share */
	char name[SYSCALL_NAME_BYTES];
	int64_t ret;
	char args[SYSCALLS_CALL_BYTES]; /* "fd: 3, buf: 0x7f..." */
};

/* Is it an event of system calls, by its name? */
bool syscalls_is_one(const char *event);

void syscall_kind_of(const struct event_type *type, struct syscall_kind *ret);

/* false: it cannot be read. */
bool syscall_read(const struct syscall_kind *k, const struct event *ev, struct syscall_seen *ret);

#endif
