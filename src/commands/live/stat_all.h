/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The VMs of `hostrace stat --all`: those that run, and those that start and end meanwhile. */
#ifndef HOSTRACE_LIVE_STAT_ALL_H
#define HOSTRACE_LIVE_STAT_ALL_H

#include <jansson.h>

#include "collector/stat.h"
#include "views/stat_rows.h"

struct stat_all;

enum {
	STAT_ALL_VMS_MAX = 256,		/* with rows of their own; the others share theirs */
	STAT_ALL_LOOK_NS = 200000000,	/* how often it is looked for VMs that started */
};

/* Counting begins. Errors with the error message set, as of stat_open_request(). */
int stat_all_open(struct stat_all **ret);
void stat_all_close(struct stat_all *a);

struct stat *stat_all_counters(const struct stat_all *a);

/* Finds VMs that started, and keeps the counts of those that ended. 0 or -errno with the error message set. */
int stat_all_look(struct stat_all *a);

/* What is counted so far, also of VMs that have ended, by their number. Free with stat_rows_free(). */
int stat_all_rows(struct stat_all *a, struct stat_rows *ret);

/* The VMs by their number; valid until the next call with `a`. */
const struct stat_part_vm *stat_all_vms(const struct stat_all *a, int *ret_nr);

/* What was not counted, and which VMs have no rows of their own. */
void stat_all_caveats(const struct stat_all *a, json_t *list);

#endif
