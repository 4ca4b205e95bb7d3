/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of `hostrace record`. */
#ifndef HOSTRACE_RECORD_COMMAND_H
#define HOSTRACE_RECORD_COMMAND_H

#include <stdbool.h>
#include <sys/types.h>

#include "collector/collector.h"
#include "vm.h"

/* ---- record_events.c: which events ---- */

/*
 * Sets or clears wants[] by a comma-separated list of sets (default, kvm, sched, qemu, irq, all),
 * event names and globs; a leading '-' takes away. -EINVAL with the sentence set if an item fits
 * nothing.
 */
int events_choose(const char *list, bool wants[EV_LIMIT]);

/* Adds what these analyzers or reports (comma-separated) look at. -EINVAL with the sentence set. */
int events_choose_for(const char *list, bool wants[EV_LIMIT]);

/* Adds what every file needs. */
void events_explain(bool wants[EV_LIMIT]);

/* ---- record_launch.c: the command behind "--" ---- */

struct launch {
	pid_t pid; /* 0: none */
	int gate;  /* pipe that keeps it from running */
	int status;
	bool ended;
};

/* Forks; the child waits at the gate. -ENOENT, ... with the sentence set. */
int launch_start(char **argv, struct launch *ret);

/* Lets it run. */
int launch_go(struct launch *c);

/* Has it ended? Then its status is known. Does not wait. */
bool launch_poll(struct launch *c);

/* Ends it if it still waits at the gate, else leaves it alone. */
void launch_close(struct launch *c);

/* What is known of the child before it runs: the VM that it may become. Free with vm_free(). */
int launch_vm(const struct launch *c, char **argv, struct vm *ret);

/* Absolute path of the program that execvp() would run, in buf. -ENOENT. */
int program_path(const char *name, char *buf, size_t size);

#endif
