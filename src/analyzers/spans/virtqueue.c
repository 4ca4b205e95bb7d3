// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A device owns a descriptor chain from popping it from the available ring until it returns it in the
 * used ring (virtio 1.2, 2.7.13 and 2.7.14). `leaks` finds those never returned; this measures the time of the others.
 */
#include "event/virtio_ids.h"
#include "pairing/analyzer.h"
#include "pairing/elements.h"
#include "pairing/pair.h"

static void virtqueue_element_popped(struct pairing *p, const struct event *ev)
{
	struct virtio_ids ids = virtio_ids_of(ev);

	pairing_begin(p, ev, (struct pair_key){{ev->pid, ids.vq, ids.id}});
}

static void virtqueue_element_left(struct pairing *p, const struct element *el,
				   enum element_end how, const struct event *ev)
{
	struct pair_key key = {{el->pid, el->vq, el->id}};

	if (how == ELEMENT_RETURNED)
		pairing_finish(p, ev, key);
	else if (how != ELEMENT_REPLACED) /* else the next pop replaces it */
		pairing_drop(p, ev, key);
}

const struct analyzer virtqueue_analyzer = {
	.name = "virtqueue",
	.summary = "how long the device owns a virtqueue element",
	.begin = "virtqueue_pop",
	.end = "virtqueue_fill",
	.needs = "virtio_device",
	.by = "device,queue",
	.elements = &(const struct analyzer_elements){.popped = virtqueue_element_popped,
						      .left = virtqueue_element_left},
	.explanation =
		"a span lasts from the return of virtqueue_pop to virtqueue_fill of the same "
		"element",
};
