// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device owns a descriptor chain from popping it from the available ring until it returns it in the
 * used ring (virtio 1.2, 2.7.13 and 2.7.14). `leaks` finds those never returned; this measures the time of the others.
 */
#include "pairing/analyzer.h"

const struct analyzer virtqueue_analyzer = {
	.name = "virtqueue",
	.summary = "how long the device owns a virtqueue element",
	.begin = "virtqueue_pop",
	.end = "virtqueue_fill",
	.needs = "virtio_device",
	.key = "vq,head",
	.by = "device,queue",
	.caveat = "a span lasts from the return of virtqueue_pop to virtqueue_fill of the same "
		  "element",
};
