/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is behind a block device of QEMU: the block drivers that a request passes, and those of them that hold requests,
 * out of QEMU's memory and without its symbols.
 *
 *   VirtIOBlock ─► BlockBackend ─► root BdrvChild ─► BlockDriverState ─► BlockDriver.format_name "throttle"
 *                                   "root"              │ children
 *                                                       └─► BdrvChild "file" ─► BlockDriverState ─► "blkdebug" ...
 *
 * Each step is one pointer at the beginning of a structure (QEMU 7.2 to 11.1: include/sysemu/block-backend.h,
 * include/block/block_int-common.h), and must end at the name of a driver. A throttled member (ThrottleGroupMember)
 * contains a pointer to its own beginning, followed by the numbers of reads and writes that it holds; a request at
 * a blkdebug breakpoint is in a list that points back at its head.
 */
#ifndef HOSTRACE_BLOCK_NODES_H
#define HOSTRACE_BLOCK_NODES_H

#include "vm/virtq_state.h"

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
