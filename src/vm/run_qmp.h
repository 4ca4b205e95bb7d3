/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Does a VM run? By the UNIX socket of a QMP monitor (QEMU: -qmp unix:PATH,server=on,wait=off). */
#ifndef HOSTRACE_RUN_QMP_H
#define HOSTRACE_RUN_QMP_H

#include <stdbool.h>
#include <stdint.h>

/* Each answer is awaited for timeout_ns (0: QMP_PATIENCE_MS). 0 or -errno with the error message set. */
int qmp_running(const char *path, uint64_t timeout_ns, bool *ret);

/* Continues it. 0: it runs. */
int qmp_continue(const char *path, uint64_t timeout_ns);

#endif
