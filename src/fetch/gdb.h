/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A guest's memory through the gdb stub of its VMM (QEMU's -gdb, -s). */
#ifndef HOSTRACE_GDB_H
#define HOSTRACE_GDB_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum { GDB_PACKET_MAX = 64 << 10 };

enum gdb_token {
	GDB_NOTHING, /* more bytes are needed */
	GDB_ACK,
	GDB_NAK,
	GDB_PACKET, /* in parser.data, terminated */
	GDB_NOTIFICATION,
	GDB_DAMAGED, /* wrong checksum, too long, or repeats nothing */
};

struct gdb_parser {
	int state;
	bool notification, damaged, escaped, repeat;
	uint8_t sum, sum_sent;
	size_t len;
	char data[GDB_PACKET_MAX + 1];
};

/* Takes one byte. After anything but GDB_NOTHING the next byte begins a new token. */
enum gdb_token gdb_parse(struct gdb_parser *p, uint8_t byte);

/* "$DATA#CC" with escapes, terminated; returns its length, 0 if it does not fit. */
size_t gdb_packet_make(const char *data, size_t len, char *ret, size_t size);

/* Hex digits to bytes. False: not exactly 2 * len digits. */
bool gdb_hex_bytes(const char *hex, size_t digits, uint8_t *ret, size_t len);

#define GDB_DEFAULT "localhost:1234"
#define GDB_TIMEOUT_NS (30ull * 1000000000)

enum { GDB_VCPUS_MAX = 4096, GDB_REGISTERS = 17 };

struct gdb;

/*
 * The VM's state when the debugger connected. GDB_PAUSED_BY_USER is known to the caller of gdb_open() only: no other
 * debugger is connected, on whose account the VM could be paused.
 */
enum gdb_before { GDB_BEFORE_UNKNOWN, GDB_RAN_BEFORE, GDB_PAUSED_BEFORE, GDB_PAUSED_BY_USER };

/*
 * "HOST:PORT", ":PORT", "tcp::PORT", "unix:PATH" or a path with a slash. The guest is stopped from now on.
 * `before`: what the caller knows of its state. 0, or -errno with the error message set: -ECONNREFUSED,
 * -ETIMEDOUT (no answer: another debugger may be attached), -EPROTO.
 */
int gdb_open(const char *target, uint64_t timeout_ns, enum gdb_before before, struct gdb **ret);

enum gdb_before gdb_before(const struct gdb *g);

/* A failure after which a VM runs whose state before is not known: appends that to the error message; returns err. */
int gdb_fail_resumed(int err);

/*
 * The end of the session: the guest runs on, or stays paused if it was paused before. -EIO with the error message set:
 * the stub did not confirm it. Nothing but gdb_close() may follow.
 */
int gdb_detach(struct gdb *g);

/* Detaches, if gdb_detach() was not called. */
void gdb_close(struct gdb *g);
DEFINE_CLEANUP(gdb, struct gdb *, gdb_close);

/*
 * For how long the VM stood still, once gdb_detach() has succeeded. At least: from the stub's first answer until it was
 * asked to detach. At most: from the connection until it confirmed that; UINT64_MAX: it did not. The guard, which
 * detaches, has the end: this process may not have run meanwhile.
 */
struct gdb_stopped {
	uint64_t min_ns, max_ns;
};
struct gdb_stopped gdb_stopped(const struct gdb *g);

/* All or nothing. -EFAULT (with the error message set): an address that the guest does not map. */
int gdb_read(struct gdb *g, uint64_t address, void *ret, size_t len);
/* The same of physical memory. -EOPNOTSUPP with the error message set: the stub is not QEMU's. */
int gdb_read_physical(struct gdb *g, uint64_t address, void *ret, size_t len);
int gdb_write(struct gdb *g, uint64_t address, const void *data, size_t len);

/* x86-64: rax rbx rcx rdx rsi rdi rbp rsp r8..r15 rip, of each vCPU. */
struct gdb_vcpu {
	uint64_t reg[GDB_REGISTERS];
	uint64_t fs_base; /* 0: the stub does not report it */
};
enum { GDB_RBP = 6, GDB_RSP = 7, GDB_RIP = 16 };
int gdb_vcpus(struct gdb *g, struct gdb_vcpu **ret, unsigned int *ret_nr);

/* ---- the guard ---- */

struct gdb_guard_shared;

struct gdb_guard {
	int pid, process; /* process: this one */
	int line; /* a socket to it; the guard acts when this end is closed; readable once the guard has ended */
	int socket;
	uint64_t timeout_ns;
	bool keeps_paused;
	struct sigaction on_acts; /* of this process before, as is the mask */
	sigset_t mask;
	struct gdb_guard_shared *shared; /* with the guard */
	struct gdb_parser parser;	 /* here, as it is too large for a small stack */
};

/* What it is told; without a word it detaches, and waits up to timeout_ns until the stub has confirmed that. */
enum gdb_guard_word {
	GUARD_KEEPS_PAUSED = 1, /* the VM was paused before */
	GUARD_IS_BLIND,		/* the stub never answered: in case that it ever does */
	GUARD_HAS_NOTHING,	/* it was never connected */
};

/*
 * Starts the child that watches over this process: before the socket is connected, as the guest is stopped from
 * that moment on.
 */
int gdb_guard_start(int socket, uint64_t timeout_ns, struct gdb_guard *ret);
void gdb_guard_tell(struct gdb_guard *g, enum gdb_guard_word word);

/*
 * Lets it act, and waits for its end. If it was killed before it detached, this process does it; if it is stopped, it
 * is continued. The same is done if SIGINT, SIGTERM, SIGHUP or SIGQUIT ends this process. True: the VM is in the
 * wanted state, as the stub has confirmed. Twice: false, without effect.
 */
bool gdb_guard_stop(struct gdb_guard *g);

/* When the request to detach was sent, and confirmed; 0: it was not. After gdb_guard_stop(). */
void gdb_guard_times(const struct gdb_guard *g, uint64_t *ret_asked_ns, uint64_t *ret_confirmed_ns);

void gdb_guard_free(struct gdb_guard *g);

#endif
