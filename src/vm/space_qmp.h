/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries QEMU's monitor for the registers that define the guest's address translation. */
#ifndef HOSTRACE_SPACE_QMP_H
#define HOSTRACE_SPACE_QMP_H

#include "vm/guest_ram.h"

/*
 * The first vCPU's CR3 and paging, through the UNIX socket of a QMP monitor (QEMU: -qmp unix:PATH,server=on,wait=off).
 * Each answer is awaited for timeout_ns (0: QMP_PATIENCE_MS). 0, or -EAGAIN (nobody listens there yet), -EBADMSG,
 * -ETIMEDOUT, ... with the error message set.
 */
int qmp_space(const char *path, uint64_t timeout_ns, struct guest_space *ret);

/* The same from the text of the monitor's "info registers". -EBADMSG. */
int qmp_space_parse(const char *registers, struct guest_space *ret);

#endif
