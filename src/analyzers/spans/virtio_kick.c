// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A driver that has put something into a queue notifies the device (virtio 1.2, 2.7.13.4). The time until the device
 * looks at the queue shows a busy event loop, a thread that was not scheduled, or a device that polls anyway.
 */
#include "pairing/analyzer.h"

const struct analyzer virtio_kick_analyzer = {
	.name = "virtio-kick",
	.summary = "how long a kick waits until the device pops the first element",
	.begin = "virtio_queue_notify",
	.end = "virtqueue_pop",
	.needs = "virtio_device",
	.key = "vdev,queue",
	.by = "device,queue",
	.keep_first = true,
	.caveat = "from the kick's arrival in QEMU to the next pop of an element; further kicks "
		  "before that pop are not counted",
};
