/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What QEMU's memory says of a virtio device besides its queues: VirtIODevice (include/hw/virtio/virtio.h), and the PCI
 * function that it belongs to. Members are found by what they are, not by offsets of one release: `vq` points to the
 * known array of queues, and name, status, isr and features are before it, in two arrangements from 4.2 to 11.1; the
 * PCI function is the parent of the device's bus, and its configuration space begins with virtio's vendor.
 */
#ifndef HOSTRACE_VIRTIO_DEVICE_H
#define HOSTRACE_VIRTIO_DEVICE_H

#include "vm/virtq_state.h"

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

#endif
