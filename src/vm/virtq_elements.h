/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * QEMU's own copies of requests: the VirtQueueElements in its heap.
 *
 * virtqueue_pop() allocates a device's request with a VirtQueueElement at its beginning, followed by four
 * arrays: the guest addresses of the element's buffers and where QEMU has them mapped (virtqueue_alloc_element(), the
 * same from 2.6 to 11.1). The element points to all four, so its two counts are there twice, and the size of the
 * device's request is known, too:
 *
 *   address ─► index len ndescs out_num in_num  in_addr ──┐  ...device's request...  ┌─► guest addresses in, out
 *              ▲                                          └──────────────────────────┘   then iovecs in, out
 *
 * A freed request does not pass: the allocator's list pointers are over its counts. Where an allocator merged it with
 * its neighbours it may; callers compare with the ring and with the queue's count.
 */
#ifndef HOSTRACE_VIRTQ_ELEMENTS_H
#define HOSTRACE_VIRTQ_ELEMENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "vm/memory.h"

enum { VIRTQ_ELEMENTS_MAX = 65536, VIRTQ_ELEMENT_SEGMENTS_MAX = 1024 /* VIRTQUEUE_MAX_SIZE */ };

struct virtq_element {
	uint64_t address;
	uint32_t bytes; /* of the device's request, the element included */
	uint32_t index, ndescs, out_num, in_num;
	uint64_t first; /* guest address of its first buffer */
};

struct virtq_elements {
	struct virtq_element *list; /* by index */
	unsigned int nr;
	bool more; /* than VIRTQ_ELEMENTS_MAX: these were dropped */
};

/* skip_bytes as heap_search(). 0 or -ENOMEM with the error message set. */
int virtq_elements_find(const struct memory *m, uint64_t skip_bytes, struct virtq_elements *ret);
void virtq_elements_free(struct virtq_elements *e);

/* The first element of that index; further ones follow. NULL: none. */
const struct virtq_element *virtq_elements_of(const struct virtq_elements *e, uint32_t index);

/*
 * What a virtio-blk device noted about its request (VirtIOBlockReq, hw/virtio/virtio-blk.h): the guest's header and,
 * from its last member (BlockAcctCookie), when the I/O began (CLOCK_MONOTONIC). QEMU 5.2 to 11.1.
 */
struct virtq_block_note {
	uint32_t type;
	uint64_t sector;
	uint64_t begin_ns; /* 0: it has not begun */
};

/* Is the element a virtio-blk request of this queue (both addresses of the process)? */
bool virtq_element_block(const struct memory *m, const struct virtq_element *e, uint64_t vdev,
			 uint64_t vq, uint64_t now_ns, struct virtq_block_note *ret);

#endif
