// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A driver that has put something into a queue notifies the device (virtio 1.2, 2.7.13.4). The time until the device
 * looks at the queue shows a busy event loop, a thread that was not scheduled, or a device that polls anyway. A kick
 * that the device finds nothing for is followed by no pop; so the newest one counts. One that a reset follows (the
 * firmware's, when the operating system's driver takes the device over) has no end.
 */
#include "event/virtio_ids.h"
#include "pairing/analyzer.h"
#include "pairing/elements.h"
#include "pairing/pair.h"

static struct pair_key queue_of(const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);

	return (struct pair_key){{ev->pid, ids.vdev, virtio_queue_index(ids.queue, ids.vq)}};
}

static void feed(struct pairing *p, const struct event *ev)
{
	if (ev->type->id == EV_virtio_queue_notify)
		pairing_begin(p, ev, queue_of(ev));
}

static void kick_popped(struct pairing *p, const struct event *ev)
{
	pairing_finish(p, ev, queue_of(ev));
}

static void kick_cleared(struct pairing *p, const struct event *ev, uint64_t vdev, uint64_t queue)
{
	pairing_drop_all(p, ev, (struct pair_key){{ev->pid, vdev, queue}});
}

const struct analyzer virtio_kick_analyzer = {
	.name = "virtio-kick",
	.summary = "how long a kick waits until the device pops the first element",
	.begin = "virtio_queue_notify",
	.end = "virtqueue_pop",
	.needs = "virtio_device",
	.feed = feed,
	.by = "device,queue",
	.ends_repeat = true,
	.elements =
		&(const struct analyzer_elements){.popped = kick_popped, .cleared = kick_cleared},
	.explanation = "from a kick's arrival in QEMU to the next pop of an element; kicks that "
		  "another kick or a reset follows before a pop are not counted",
};
