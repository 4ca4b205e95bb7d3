/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's memory through the gdb stub of its VMM (QEMU's -gdb, -s). QEMU stops the VM when a
 * debugger connects and resumes it when it detaches, but not when the connection is closed; so a
 * child process monitors this one and detaches for it, however it ends. A VM that was paused before
 * runs afterwards, because the protocol does not report that state.
 *
 * Addresses are virtual, as the first vCPU maps them.
 */
#ifndef HOSTRACE_GDB_H
#define HOSTRACE_GDB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

#define GDB_DEFAULT "localhost:1234"
#define GDB_TIMEOUT_NS (30ull * 1000000000)

enum { GDB_VCPUS_MAX = 4096, GDB_REGISTERS = 17 };

struct gdb;

/*
 * "HOST:PORT", ":PORT", "tcp::PORT", "unix:PATH" or a path with a slash. The guest is stopped
 * from now on. 0, or -errno with the error message set: -ECONNREFUSED, -ETIMEDOUT (no answer: another
 * debugger may be attached), -EPROTO.
 */
int gdb_open(const char *target, uint64_t timeout_ns, struct gdb **ret);

/* The guest runs on. */
void gdb_close(struct gdb *g);
DEFINE_CLEANUP(gdb, struct gdb *, gdb_close);

/* ns since gdb_open() */
uint64_t gdb_stopped_ns(const struct gdb *g);

/* All or nothing. -EFAULT (with the error message set): an address that the guest does not map. */
int gdb_read(struct gdb *g, uint64_t address, void *ret, size_t len);
int gdb_write(struct gdb *g, uint64_t address, const void *data, size_t len);

/* x86-64: rax rbx rcx rdx rsi rdi rbp rsp r8..r15 rip, of each vCPU. */
struct gdb_vcpu {
	uint64_t reg[GDB_REGISTERS];
	uint64_t fs_base; /* 0: the stub does not report it */
};
enum { GDB_RBP = 6, GDB_RSP = 7, GDB_RIP = 16 };
int gdb_vcpus(struct gdb *g, struct gdb_vcpu **ret, unsigned int *ret_nr);

/* ---- gdb_guard.c ---- */

struct gdb_guard {
	int pid, pipe;
};
enum gdb_guard_end {
	GUARD_DETACHES,
	GUARD_DETACHES_BLINDLY, /* the stub never answered: in case that it ever does */
	GUARD_HAS_NOTHING,	/* it was never connected */
};

/*
 * Starts the child that watches over this process: before the socket is connected, as the guest is stopped from
 * that moment on.
 */
int gdb_guard_start(int socket, struct gdb_guard *ret);
/* Ends it, and waits for that. */
void gdb_guard_stop(struct gdb_guard *g, enum gdb_guard_end how);

#endif
