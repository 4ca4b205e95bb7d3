/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What QEMU's events of virtio devices, queues and elements have in common: the ids of what they are about. */
#ifndef HOSTRACE_VIRTIO_IDS_H
#define HOSTRACE_VIRTIO_IDS_H

#include "event/event.h"

#define VIRTIO_NO_QUEUE UINT32_MAX /* the recording has no index */
#define VIRTIO_NO_HEAD	UINT32_MAX /* ... no descriptor head */

enum {
	BALLOON_STATS_QUEUE = 2, /* keeps one element by design (virtio 1.2, 5.5.6.3) */
	MSI_LOGICAL = 4, /* bit 2 of an MSI address: the destination is a mask (SDM 3A, 11.11.1) */

	/* QEMU's qapi/run-state.json, in the order of its values. */
	RUN_STATE_INMIGRATE = 1,
	RUN_STATE_POSTMIGRATE = 5,
	RUN_STATE_FINISH_MIGRATE = 7,
};

/* 0: the event, or the recording, does not have it: no object of QEMU is at address 0. */
struct virtio_ids {
	uint64_t vdev, vq, elem;
	uint32_t queue, head;
	uint64_t id;	 /* tells a queue's elements in flight apart: the head, or where that is not recorded, elem */
	bool of_device;	 /* the event is of a device */
	bool of_element; /* ... of an element, */
	bool is_known;	 /* ... and the recording has what tells it from others: vq and id */
};

/* "3", or "-" for none. Returns buf. */
const char *virtio_queue_print(uint32_t queue, char *buf, size_t size);

/* What tells a device's queues apart: the number, or where it is not recorded, vq and a bit that no address has. */
static inline uint64_t virtio_queue_index(uint32_t queue, uint64_t vq)
{
	return queue == VIRTIO_NO_QUEUE && vq ? vq | UINT64_C(1) << 63 : queue;
}

struct virtio_ids virtio_ids_of(const struct event *ev);

#endif
