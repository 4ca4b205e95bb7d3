/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All virtqueues of a running VM, from QEMU's memory and, where a monitor is given, from QMP.
 * Memory is read before and after the monitor is queried: QMP's values must be between.
 */
#ifndef HOSTRACE_VIRTQ_LIST_H
#define HOSTRACE_VIRTQ_LIST_H

#include "vm/virtq_qmp.h"
#include "vm/virtq_state.h"
#include "vm/vm.h"

enum virtq_agreement { VIRTQ_AGREE_UNKNOWN, VIRTQ_AGREE_YES, VIRTQ_AGREE_NO };

struct virtq_entry {
	char device[VIRTQ_PATH_MAX]; /* QOM path; "" if it cannot be read */
	unsigned int queue;
	bool in_memory, in_qmp;
	struct virtq_state state; /* in_memory: the newer reading */
	struct virtq_qmp qmp;	  /* in_qmp */
	enum virtq_agreement agree;
};

struct virtq_list {
	struct virtq_entry *entry;
	unsigned int nr;
	char *memory_error; /* why memory could not be read; NULL: it was */
};

/*
 * qmp: the monitor's socket, or NULL. Memory that may not be read is an error only without a
 * monitor. 0 or -errno with the error message set; free with virtq_list_free() in any case.
 */
int virtq_list_read(const struct vm *vm, const char *qmp, struct virtq_list *ret);
void virtq_list_free(struct virtq_list *list);

/* Has the driver set it up? Is it served outside QEMU (vhost)? */
bool virtq_entry_ready(const struct virtq_entry *e);
bool virtq_entry_elsewhere(const struct virtq_entry *e);

#endif
