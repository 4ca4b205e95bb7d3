/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's monitor (QMP, docs/interop/qmp-spec): JSON objects, one a line, over a Unix socket. The monitor serves one
 * client at a time: another one can connect but gets no greeting. All input is bounded and untrusted; nothing
 * waits longer than the patience.
 */
#ifndef HOSTRACE_QMP_H
#define HOSTRACE_QMP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <jansson.h>

#include "base/cleanup.h"

enum {
	QMP_PATIENCE_MS = 5000, /* for one answer */
	QMP_LINE_MAX = 4 << 20,
	QMP_EVENTS_MAX = 1000, /* skipped while one answer is awaited */
};

struct qmp;

/*
 * Connects, reads the greeting, negotiates. Each answer is awaited for so long (0: QMP_PATIENCE_MS). -errno with the
 * error message set.
 */
int qmp_open(const char *socket, int patience_ms, struct qmp **ret);

/* Part of a millisecond is one; 0 remains 0. */
int qmp_patience_ms(uint64_t timeout_ns);

/* The same over a connected socket, of which it takes ownership, also on failure; `name` is for messages. */
int qmp_open_fd(int fd, const char *name, int patience_ms, struct qmp **ret);
void qmp_close(struct qmp *q);
DEFINE_CLEANUP(qmp, struct qmp *, qmp_close);

/* The process that listens there; 0: not known. */
pid_t qmp_pid(const struct qmp *q);

/*
 * Executes a command; `arguments` (stolen; NULL: none). *ret_value is what it returned, a new reference. -EOPNOTSUPP:
 * this QEMU has no such command; -EREMOTEIO: it rejected (its own error message is used); -ETIMEDOUT, -EPROTO,
 * -ECONNRESET: the connection is of no use any more.
 */
int qmp_execute(struct qmp *q, const char *command, json_t *arguments, json_t **ret_value);

#endif
