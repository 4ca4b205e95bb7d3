/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The same virtqueues as reported by QEMU's monitor (x-query-virtio*, QEMU 7.2 and later).
 *
 * Four things are left unasked on purpose. x-query-virtio-status aborts QEMU 11.1 (an assertion of
 * visit_start_struct()). x-query-virtio-queue-element maps the element that is next, and a guest that was looked at so
 * has failed. x-query-virtio-queue-status of a device that vhost serves asks the backend for the ring's base
 * (VHOST_GET_VRING_BASE), which by the protocol stops the ring (QEMU's docs/interop/vhost-user.rst): such queues are
 * requested by x-query-virtio-vhost-queue-status, which only reads QEMU's own copy, and which is rejected where vhost
 * does not serve the device. And devices that the VM has not realised are not named.
 */
#ifndef HOSTRACE_VIRTQ_QMP_H
#define HOSTRACE_VIRTQ_QMP_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/qmp.h"
#include "vm/virtq_state.h"

struct virtq_qmp {
	char path[VIRTQ_PATH_MAX];
	char name[32]; /* "virtio-blk" */
	unsigned int index;
	bool vhost; /* served outside QEMU: no indices */
	unsigned int size;
	uint64_t desc, avail, used;
	uint16_t last_avail_idx, shadow_avail_idx, used_idx, signalled_used;
	uint32_t inuse;
};

/* All queues of all devices; *ret is allocated. As qmp_execute(); -EOPNOTSUPP: QEMU is older than 7.2. */
int virtq_qmp_read(struct qmp *q, struct virtq_qmp **ret, unsigned int *ret_nr);

/* Parses one reply to x-query-virtio-queue-status. False: it is malformed. */
bool virtq_qmp_parse(const json_t *answer, struct virtq_qmp *ret);

#endif
