/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Block devices of the host whose data a server has: iSCSI, NVMe over fabrics, the kernel's clients of NBD and RBD. */
#ifndef HOSTRACE_BLOCK_SERVER_H
#define HOSTRACE_BLOCK_SERVER_H

#include <stdbool.h>
#include <stddef.h>

/*
 * sys: where sysfs is mounted. name: the device's as in /sys/class/block, or its number, "8:16". Of a volume that is
 * made of others (LVM, dm-crypt, MD), that of the first that a server has. driver: "iscsi", "nvme-tcp", "nbd", ...;
 * address: "10.0.0.5:3260 iqn.2003-01.org.x:web", or "". Without opening the device, which may not answer.
 */
bool block_server_find(const char *sys, const char *name, char *driver, size_t driver_size,
		       char *address, size_t address_size);

#endif
