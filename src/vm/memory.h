/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of another process, read while it runs: its mappings as /proc/PID/maps lists them when
 * it is opened, and reads that return all or fail. Opening needs the rights of ptrace(2): the same
 * user (and a kernel that allows it), or CAP_SYS_PTRACE; reading needs none. Nothing is stopped and
 * nothing written, so two reads may be of two moments.
 */
#ifndef HOSTRACE_VM_MEMORY_H
#define HOSTRACE_VM_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

enum { MEMORY_RANGES_MAX = 65536 }; /* mappings beyond these are not seen; Linux allows 65530 */

struct memory_range {
	uint64_t start, end;
	bool read, write, exec, shared;
	bool file; /* of a file or a memfd */
	bool heap; /* "[heap]": brk */
	bool secret; /* of memfd_secret(2): only the process itself can read it */
	bool device; /* of a device passed through by VFIO, or of physical memory */
};

struct memory {
	/* Reads exactly size bytes into buf: 0, -EFAULT (not mapped), -ESRCH (the process has
	 * exited). NULL: not open. */
	int (*read)(const struct memory *m, uint64_t addr, void *buf, size_t size);
	int fd;		   /* /proc/PID/mem */
	FILE *maps;	   /* /proc/PID/maps, for memory_reread() */
	const void *image; /* for the `read` of a test */
	struct memory_range *range;
	unsigned int nr;
};

/*
 * start: when the process was started (vm/proc.h), so that a later one with its pid is not read; 0: unknown.
 * 0, or -errno with the error message set: -EPERM, -EACCES (the message names the right), -ESRCH.
 * Free with memory_close(); a zeroed one, and one that failed to open, may be closed too.
 */
int memory_open(pid_t pid, uint64_t start, struct memory *ret);
void memory_close(struct memory *m);

/* The mappings as they are now. Needs no rights, either. 0 or -errno with the error message set: -ESRCH. */
int memory_reread(struct memory *m);

static inline int memory_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	return m->read(m, addr, buf, size);
}

/* A number of `size` bytes in a copy of the process's memory; hosts are little-endian, as base/buffer.h assumes. */
static inline uint64_t memory_le(const uint8_t *p, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, p, size);
	return v;
}

/* One line of /proc/PID/maps. False if it is none. */
bool memory_range_parse(const char *line, struct memory_range *ret);

#endif
