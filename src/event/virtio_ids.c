// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/records.h"
#include "event/virtio_ids.h"

/* clang-format off */
#define IDS(event, ...)                                                                            \
	case EV_##event: {                                                                         \
		RECORD(event, r, ev);                                                              \
		return (struct virtio_ids){.of_device = true, __VA_ARGS__};                        \
	}
#define DEVICE .vdev = r->vdev
#define INDEX DEVICE, .queue = r->queue
#define QUEUE INDEX, .vq = r->vq
#define ELEMENT QUEUE, .elem = r->elem, .head = r->head

struct virtio_ids virtio_ids_of(const struct event *ev)
{
	switch (ev->type->id) {
	IDS(virtqueue_pop, ELEMENT)
	IDS(virtqueue_fill, ELEMENT)
	IDS(virtqueue_detach, ELEMENT)
	IDS(virtqueue_unpop, ELEMENT)
	IDS(virtqueue_flush, QUEUE)
	IDS(virtqueue_rewind, QUEUE)
	IDS(virtqueue_drop_all, QUEUE)
	IDS(virtio_queue_notify, QUEUE)
	IDS(virtio_notify, QUEUE)
	IDS(virtio_delete_queue, QUEUE)
	IDS(virtio_queue_reset, INDEX)
	IDS(virtio_set_status, DEVICE)
	IDS(virtio_reset, DEVICE)
	IDS(virtio_error, DEVICE)
	IDS(virtio_device, DEVICE)
	IDS(virtio_kind, DEVICE)
	IDS(virtio_cleanup, DEVICE)
	IDS(vhost_start, DEVICE)
	}
	return (struct virtio_ids){0};
}
/* clang-format on */
