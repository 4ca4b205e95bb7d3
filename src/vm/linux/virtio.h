/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The virtqueues of a Linux guest as its drivers have them (drivers/virtio/virtio_ring.c), and the rings that they
 * share with the devices. Offsets are those of the guest's BTF: struct vring_virtqueue is in that of the module
 * virtio_ring where this is not built in.
 */
#ifndef HOSTRACE_LINUX_VIRTIO_H
#define HOSTRACE_LINUX_VIRTIO_H

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"
#include "vm/virtq_state.h"

enum {
	LINUX_BUSES_MAX = 1024,
	LINUX_VIRTIO_DEVICES_MAX = 1024,
	LINUX_VIRTQUEUES_MAX = 16384, /* of all devices */
	LINUX_VIRTIO_NAME_MAX = 32,
};

struct linux_virtqueue {
	char device[LINUX_VIRTIO_NAME_MAX]; /* "virtio0"; names are sanitized */
	char driver[LINUX_VIRTIO_NAME_MAX]; /* "virtio_blk"; "": none */
	char name[LINUX_VIRTIO_NAME_MAX];   /* "req.0" */
	uint32_t index, size, free;	    /* free: descriptors */
	uint64_t ring; /* where the VM's process has the descriptors; 0: not mapped */
	bool packed, broken, event_idx;
	bool moving; /* it changed whenever it was read */

	/* The driver's own state. split: indices as in the rings; packed: descriptors. */
	uint16_t avail_idx; /* of what it offers next */
	uint16_t seen_idx;  /* of the next used element that it looks at */
	uint16_t added;	    /* offered since the device was notified last, or this was found unnecessary */

	/* What is in the rings; only if rings is set. */
	bool rings;
	uint16_t ring_avail_idx, ring_used_idx; /* split */
	struct virtq_notify kicks, interrupts;	/* which the device, and the driver, wants */
};

/*
 * All queues, by device; *ret is allocated, *ret_nr must be 0. 0, or with the error message set: -ENOENT: the kernel
 * has no virtio bus, or lacks a symbol or a type; -EAGAIN: a list kept changing; -E2BIG; -ENOMEM: *ret has a part of
 * it. Queues that could not be read are left out, and counted in g->torn.
 */
int linux_virtqueues_read(struct linux_guest *g, const struct btf_types *types,
			  struct linux_virtqueue **ret, size_t *ret_nr);

#endif
