/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process that finds out where a Linux guest has the current task of each CPU (vm/linux/current.h), for the BPF
 * programs that read it (bpf/guest_look.bpf.h), and watches that this remains so. To be started before the parent gives
 * up its privileges.
 */
#ifndef HOSTRACE_COMMANDS_GUEST_WATCH_H
#define HOSTRACE_COMMANDS_GUEST_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "guest_task.h"
#include "vm/vm.h"

struct guest_watch {
	pid_t pid; /* 0: not started, or stopped */
	int fd;
	bool known;	/* the kernel was found, and runs */
	char text[320]; /* the kernel's version, or why it is not known; "": nothing was reported */
};

/* kernel: in memory that is shared with the programs. -errno with the error message set. */
int guest_watch_start(struct guest_watch *w, const struct vm *vm, struct guest_kernel *kernel);

/* Reads what the child reports: the kernel's version once it is known, and why it was not at first. False: nothing. */
bool guest_watch_read(struct guest_watch *w);
/* The same, waiting for it until this time. */
bool guest_watch_wait(struct guest_watch *w, uint64_t until_ns);

/* Why the kernel is not known. */
const char *guest_watch_why(const struct guest_watch *w);

void guest_watch_stop(struct guest_watch *w);

#endif
