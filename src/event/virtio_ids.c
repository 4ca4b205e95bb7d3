// SPDX-License-Identifier: GPL-2.0-or-later
/* One row per event: which of its fields are the device, the queue and the element. */
#include <stdio.h>

#include "event/records.h"
#include "event/virtio_ids.h"

/* clang-format off */
#define IDS(event, ...)                                                                            \
	case EV_##event: {                                                                         \
		RECORD(event, r, ev);                                                              \
		return (struct virtio_ids){.of_device = true, __VA_ARGS__};                        \
	}
#define BY_ELEM (UINT64_C(1) << 63) /* no user address has this bit */
#define DEVICE .vdev = r->vdev
#define INDEX(event)                                                                               \
	DEVICE, .queue = record_has(ev, event, queue) ? r->queue : VIRTIO_NO_QUEUE
#define QUEUE(event) INDEX(event), .vq = r->vq
#define ELEMENT(event)                                                                             \
	QUEUE(event), .elem = r->elem, .of_element = true,                                         \
	.head = record_has(ev, event, head) ? r->head : VIRTIO_NO_HEAD,                            \
	.id = record_has(ev, event, head) ? r->head : r->elem | BY_ELEM,                           \
	.is_known = record_has(ev, event, vq) && (record_has(ev, event, head) || r->elem)

struct virtio_ids virtio_ids_of(const struct event *ev)
{
	switch (ev->type->id) {
	IDS(virtqueue_pop, ELEMENT(virtqueue_pop))
	IDS(virtqueue_fill, ELEMENT(virtqueue_fill))
	IDS(virtqueue_detach, ELEMENT(virtqueue_detach))
	IDS(virtqueue_unpop, ELEMENT(virtqueue_unpop))
	IDS(virtqueue_flush, QUEUE(virtqueue_flush))
	IDS(virtqueue_rewind, QUEUE(virtqueue_rewind))
	IDS(virtqueue_drop_all, QUEUE(virtqueue_drop_all))
	IDS(virtio_queue_notify, QUEUE(virtio_queue_notify))
	IDS(virtio_notify, QUEUE(virtio_notify))
	IDS(virtio_delete_queue, QUEUE(virtio_delete_queue))
	IDS(virtio_queue_reset, INDEX(virtio_queue_reset))
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

const char *virtio_queue_print(uint32_t queue, char *buf, size_t size)
{
	snprintf(buf, size, queue == VIRTIO_NO_QUEUE ? "-" : "%u", queue);
	return buf;
}
