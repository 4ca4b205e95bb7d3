/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disks as QEMU counts their requests, whatever their model: QMP's query-block and query-blockstats. For virtio devices
 * events say more; of IDE, NVMe, SCSI and USB this is all that is known from outside.
 */
#ifndef HOSTRACE_DISKS_H
#define HOSTRACE_DISKS_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "vm/vm.h"

enum { DISKS_MAX = 64 /* of a VM; of further ones only the number is kept */ };

/*
 * Asks the monitor at this socket; each answer is awaited for patience_ms (0: QMP_PATIENCE_MS). *ret_pid is the
 * process behind it. 0, or -errno with the error message set.
 *
 * *ret: {"list": [{"device": "d0", or its id or path, "model": "ide-hd", "group": of its throttling, or absent,
 *	  "virtio": whether it is virtio's, or on a bus of virtio-scsi,
 *	  "limits": {"iops", "iops_rd", "iops_wr", "bps", "bps_rd", "bps_wr", "iops_size"}: those set,
 *	  "reads", "writes", "flushes", "read_bytes", "write_bytes", "time_ns": since QEMU has started, of those
 *	  that ended}],
 *	  "left_out": disks beyond DISKS_MAX}, a new reference
 */
int disks_query(const char *socket, int patience_ms, json_t **ret, pid_t *ret_pid);

/* The same from the monitor's answers, without "model" and "virtio"; `groups`: {name: limits of a throttle-group}. */
json_t *disks_parse(const json_t *blocks, const json_t *stats, const json_t *groups);

/*
 * What happened between two answers: that of the later one, with counts since the first. A disk that was not there
 * then has begun since.
 */
json_t *disks_between(const json_t *first, const json_t *later);

/*
 * The first disk on the VM's command line that is not virtio: "ide-hd,drive=d0", "drive,file=web.img,if=ide"; NULL:
 * there is none. `vm`: that of vm_json().
 */
const char *disks_other_of(const json_t *vm);

/* The first whose queues another process or the kernel serves: QEMU sees none of its requests. NULL: there is none. */
const char *disks_outside_of(const json_t *vm);

/* Does its command line limit the I/O of a disk? */
bool disks_throttled_by_option(const json_t *vm);

/*
 * The path of the first QMP monitor on QEMU's command line that listens at a UNIX socket; "": there is none. argv as
 * for vm_cmdline_parse().
 */
void disks_monitor_find(char *const *words, unsigned int nr, char *ret, size_t size);

/*
 * A descriptor of the socket of this process's monitor, which only says where it is (O_PATH): its path is of the
 * process's own root or directory. -ENOENT, ... with the error message set.
 */
int disks_monitor_open(pid_t pid);

#endif
