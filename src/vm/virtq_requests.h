/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests in a virtqueue's rings: offered by the guest and not popped, or popped by the device and not returned.
 *
 * A ring says exactly what is offered. Which of the popped requests have not been returned it says only in part: an
 * entry of the available ring is overwritten after as many requests as the queue has entries, and a head that was
 * returned and popped again in the meantime cannot be distinguished from one that was popped and returned. QEMU's own
 * elements (virtq_elements.h) decide: a popped request has one. `certain` is whether these, or the rings alone, leave
 * only one reading.
 *
 * Rings and descriptors are the guest's: each is read once into a copy, a chain is followed over at most as many
 * descriptors as the queue or the indirect table has, and guest addresses are read inside the guest's RAM only.
 */
#ifndef HOSTRACE_VIRTQ_REQUESTS_H
#define HOSTRACE_VIRTQ_REQUESTS_H

#include "vm/guest_ram.h"
#include "vm/virtq_elements.h"
#include "vm/virtq_state.h"

enum virtq_stage {
	VIRTQ_OFFERED, /* not popped */
	VIRTQ_POPPED,  /* not returned */
	VIRTQ_OUTSIDE, /* not returned; the device is outside QEMU (vhost): whether it has popped is unknown */
};

struct virtq_request {
	enum virtq_stage stage;
	uint16_t head;	/* packed: buffer id */
	bool certain;	/* the only reading of rings and elements */
	bool element;	/* QEMU's heap has it: */
	uint64_t address; /* there, and how much of it is the device's request */
	uint32_t bytes;
	bool broken;	/* its descriptors are not valid: a loop, beyond the table or beyond guest RAM */
	bool indirect;
	uint32_t descs, out_bytes, in_bytes; /* of valid descriptors; a sum is at most UINT32_MAX */
	uint64_t first;			     /* guest address of its first buffer; 0: unknown */

	uint8_t header[64]; /* the beginning of the first buffer out, if header_bytes */
	uint8_t header_bytes;

	bool block; /* `note` is QEMU's, of a virtio-blk request */
	struct virtq_block_note note;
};

/* What the requests of a VM's queues are read with. */
struct virtq_view {
	const struct memory *m;
	const struct guest_ram *ram; /* NULL: not found; chains' contents are then unknown */
	const struct virtq_elements *elements;
	uint64_t now_ns; /* of the VM's CLOCK_MONOTONIC; 0: unknown */
	int64_t ahead_ns; /* of the host's, which notes are converted to */
};

/*
 * *ret is allocated: those popped first, then those offered, in the ring's order. 0, -EFAULT (the rings cannot be read)
 * or -ENOMEM, with the error message set.
 */
int virtq_requests_read(const struct virtq_view *v, const struct virtq_device *d,
			const struct virtq_state *s, struct virtq_request **ret,
			unsigned int *ret_nr);

#endif
