/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's monitor (QMP, docs/interop/qmp-spec): JSON objects, one a line, over a Unix socket. The monitor serves one
 * client at a time: another one can connect but gets no greeting. All input is bounded and untrusted; nothing
 * waits longer than the patience.
 */
#ifndef HOSTRACE_QMP_H
#define HOSTRACE_QMP_H

#include <jansson.h>

#include "base/cleanup.h"
#include "vm/guest_ram.h"

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

/* Each answer is awaited for timeout_ns (0: QMP_PATIENCE_MS). 0 or -errno with the error message set. */
int qmp_running(const char *path, uint64_t timeout_ns, bool *ret);

/* What a debugger has to know before it connects, because QEMU stops the VM for it. */
struct qmp_before {
	bool runs;
	bool no_debugger; /* none is connected: a VM that does not run was paused by its user */
};
int qmp_before_debugger(const char *path, uint64_t timeout_ns, struct qmp_before *ret);

/* Continues it. 0: it runs. */
int qmp_continue(const char *path, uint64_t timeout_ns);

/* Queries QEMU's monitor for the registers that define the guest's address translation. */

/*
 * The first vCPU's CR3 and paging, through the UNIX socket of a QMP monitor (QEMU: -qmp unix:PATH,server=on,wait=off).
 * Each answer is awaited for timeout_ns (0: QMP_PATIENCE_MS). 0, or -EAGAIN (nobody listens there yet), -EBADMSG,
 * -ETIMEDOUT, ... with the error message set.
 */
int qmp_space(const char *path, uint64_t timeout_ns, struct guest_space *ret);

/* The same from the text of the monitor's "info registers". -EBADMSG. */
int qmp_space_parse(const char *registers, struct guest_space *ret);

/* What is behind the guest's ports and addresses that are not RAM: QEMU's memory regions and their devices. */

enum { REGIONS_MAX = 1024, REGION_NAME_MAX = 64 };

/*
 * Queries a QMP monitor ("info mtree"). *ret is [["port"|"mmio", FIRST, LAST,
 * "REGION of DEVICE"], ...], at most REGIONS_MAX, a new reference; *ret_pid is the process. -errno with the error
 * message set.
 */
int qmp_regions(const char *socket, json_t **ret, pid_t *ret_pid);

/* The same from the text of "info mtree -f -o". -EBADMSG if it contains no region. */
int qmp_regions_parse(const char *mtree, json_t **ret);

#endif
