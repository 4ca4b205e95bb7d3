/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests in a virtqueue's rings. */
#ifndef HOSTRACE_VIRTQ_REQUESTS_H
#define HOSTRACE_VIRTQ_REQUESTS_H

#include "vm/virtq_state.h"

enum { HEAP_ALIGN = 16, HEAP_OVERLAP_MAX = 65536 };

/*
 * Calls fn for each piece of the heap; each contains the first `overlap` bytes of the next one (at most
 * HEAP_OVERLAP_MAX), so that no structure is cut. skip_bytes: the size of guest memory, which is not searched (0:
 * unknown). 0, -ENOMEM with the error message set, or the first error of fn.
 */
int heap_search(const struct memory *m, uint64_t skip_bytes, size_t overlap,
		int (*fn)(void *arg, const uint8_t *bytes, size_t size, uint64_t base), void *arg);

/* Layouts of the rings (virtio 1.2, 2.7 and 2.8), and of QEMU's devices. */
enum {
	DESC_BYTES = 16,
	USED_ELEMENT_BYTES = 8,
	PACKED_EVENT_BYTES = 4,
	PACKED_AVAIL = 1 << 7, /* 2.8.13 */
	PACKED_USED = 1 << 15,
	VDEV_BYTES = 1024, /* VirtIODevice.vq is within these, at various offsets */
	VDEV_PATH = 48,	   /* DeviceState.canonical_path */
};

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

/* virtio 1.2, 2.1 and 6 */
enum {
	VIRTIO_DRIVER_OK = 4,
	VIRTIO_NEEDS_RESET = 64,
	VIRTIO_F_INDIRECT_DESC = 28,
	VIRTIO_F_EVENT_IDX = 29,
	VIRTIO_F_RING_PACKED = 34,
};

struct virtio_device {
	bool known;    /* status, isr, features */
	char name[32]; /* "virtio-blk", "vhost-user-fs" */
	uint8_t status;
	uint8_t isr; /* bit 0: a queue's interrupt; a driver that uses INTx clears it by reading it */
	uint64_t features; /* that the driver accepted */

	bool pci; /* its configuration space was found */
	bool bus_master, intx_disabled, msix, msix_masked;
	uint16_t msix_vectors;

	/* Of the MSI-X table and the pending bits of the first 64 vectors, if known. */
	bool vectors_known;
	uint64_t masked, pending;
};

void virtio_device_read(const struct memory *m, const struct virtq_device *d,
			struct virtio_device *ret);

enum { BLOCK_NODES_MAX = 16, BLOCK_NAME_MAX = 32, BLOCK_FILE_MAX = 160 };

struct block_node {
	char driver[BLOCK_NAME_MAX];
	char file[BLOCK_FILE_MAX]; /* its file name, as QEMU has it; "" if unknown */
};

struct block_backend {
	struct block_node node[BLOCK_NODES_MAX]; /* the device's first, then their children */
	unsigned int nr; /* 0: not found, or none */
	uint32_t throttled; /* requests that wait in I/O throttling */
	uint32_t suspended; /* requests at breakpoints of blkdebug */
	char breakpoint[BLOCK_NAME_MAX]; /* of one of them */
	char disk[VIRTQ_PATH_MAX]; /* QOM path of a SCSI adapter's disk; "" of others */
};

/* device: QEMU's VirtIOBlock or SCSIDevice. */
void block_backend_read(const struct memory *m, uint64_t device, struct block_backend *ret);

/*
 * The disk (SCSIDevice) that a popped request of a virtio-scsi adapter is for: VirtIOSCSIReq.sreq is a SCSIRequest
 * {bus, dev}, and the bus is part of the adapter. request, bytes: of its element (virtq_elements.h). 0: not found.
 */
uint64_t block_scsi_disk(const struct memory *m, uint64_t vdev, uint64_t request, uint32_t bytes);

#endif
