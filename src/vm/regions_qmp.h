/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is behind the guest's ports and addresses that are not RAM: QEMU's memory regions and their devices. */
#ifndef HOSTRACE_REGIONS_QMP_H
#define HOSTRACE_REGIONS_QMP_H

#include <sys/types.h>

#include <jansson.h>

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
