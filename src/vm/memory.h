/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of another process, to be looked at while it runs: its mappings as /proc/PID/maps lists them, and reads
 * that fail rather than return half. Needs the rights of ptrace(2): the same user (and a kernel that allows it), or
 * CAP_SYS_PTRACE. Nothing is stopped and nothing written, so what two reads tell may be of two moments.
 */
#ifndef HOSTRACE_MEMORY_H
#define HOSTRACE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { MEMORY_RANGES_MAX = 65536 }; /* mappings beyond these are not seen; Linux allows 65530 */

struct memory_range {
	uint64_t start, end;
	bool read, write, exec, shared;
	bool file; /* of a file or a memfd */
	bool heap; /* "[heap]": brk */
};

struct memory {
	/* Reads exactly size bytes into buf: 0, or -EFAULT, -EPERM, -ESRCH. */
	int (*read)(const struct memory *m, uint64_t addr, void *buf, size_t size);
	pid_t pid;
	const void *image; /* for tests: what `read` makes of it */
	struct memory_range *range;
	unsigned int nr;
};

/* 0, or -errno with the sentence set (-EPERM, -EACCES, -ESRCH: who may look). Free with memory_close(). */
int memory_open(pid_t pid, struct memory *ret);
void memory_close(struct memory *m);

static inline int memory_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	return m->read(m, addr, buf, size);
}

/* One line of /proc/PID/maps. False if it is none. */
bool memory_range_parse(const char *line, struct memory_range *ret);

#endif
