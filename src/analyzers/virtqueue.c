// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer.h"

const struct analyzer virtqueue_analyzer = {
	.name = "virtqueue",
	.summary = "how long the device keeps a virtqueue element",
	.begin = "virtqueue_pop",
	.end = "virtqueue_fill",
	.needs = "virtio_device",
	.key = "vq,head",
	.by = "device,queue",
	.caveat = "an element is the device's from virtqueue_pop's return to virtqueue_fill",
};
