/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that a process has mapped. What is executed now is opened through /proc/PID/map_files, so a QEMU in a
 * container, or one whose file was replaced, has its own code and symbols. A recorder without the right to do so opens
 * it by its name, if that is the same file.
 */
#ifndef HOSTRACE_COLLECTOR_MAPPED_H
#define HOSTRACE_COLLECTOR_MAPPED_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* A line of /proc/PID/maps that is a file's. */
struct mapping {
	uint64_t from, to, offset, inode;
	unsigned int major, minor;
	bool code; /* executable */
	char path[PATH_MAX];
};

/* The caller closes it. NULL: the process has ended, or is another user's. */
FILE *mappings_open(pid_t pid);

/* The next one; false: there is none. */
bool mapping_next(FILE *maps, struct mapping *ret);

/* A descriptor of the mapped file, or -1. */
int mapping_open(pid_t pid, const struct mapping *m);

#endif
