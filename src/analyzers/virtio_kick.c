// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer.h"

const struct analyzer virtio_kick_analyzer = {
	.name = "virtio-kick",
	.summary = "how long a kick waits until the device takes the first element",
	.begin = "virtio_queue_notify",
	.end = "virtqueue_pop",
	.needs = "virtio_device",
	.key = "vdev,queue",
	.by = "device,queue",
	.keep_first = true,
	.caveat = "from the kick's arrival in QEMU to the next element popped; further kicks "
		  "meanwhile do not count",
};
