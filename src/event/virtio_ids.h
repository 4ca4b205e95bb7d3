/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What QEMU's events of virtio devices, queues and elements have in common: the ids of what they are about. */
#ifndef HOSTRACE_VIRTIO_IDS_H
#define HOSTRACE_VIRTIO_IDS_H

#include "event/event.h"

/* 0: the event, or the recording, does not have it. */
struct virtio_ids {
	uint64_t vdev, vq, elem;
	uint32_t queue, head;
	bool of_device; /* the event is of a device */
};

struct virtio_ids virtio_ids_of(const struct event *ev);

#endif
