/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Disks whose data a server has, by QEMU's command line: NBD, iSCSI, RBD, SSH, NFS, GlusterFS, HTTP as drivers of
 * QEMU's, files on mounted file systems of a server, and block devices of the host (block_server.h), also those that
 * have the file system of a file.
 */
#ifndef HOSTRACE_DISK_SERVER_H
#define HOSTRACE_DISK_SERVER_H

#include <jansson.h>
#include <sys/types.h>

enum { DISK_SERVERS_MAX = 64, DISK_SERVER_TEXT = 256 };

/*
 * [{"device": id of the -device, or "", "drive": id or node name, "driver": "nbd", or the file system's type,
 *   "address": "10.0.0.1:10809", "/run/nbd.sock", "filer:/vms"}], without those that no server has. words: argv as for
 * vm_cmdline_parse(); mounts: the text of /proc/PID/mountinfo; sys: where sysfs is mounted, or NULL. A new reference.
 */
json_t *disk_servers_parse(char *const *words, unsigned int nr, const char *mounts,
			   const char *sys);

/* The same of a process. NULL: its command line cannot be read. */
json_t *disk_servers_read(pid_t pid);

#endif
