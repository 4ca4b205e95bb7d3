/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A virtio device over PCI, modern interface (virtio 1.2: 3.1 initialization, 4.1 PCI), for the demo guest and the test
 * guests on its platform. Sections in comments are virtio 1.2's. Errors end QEMU, as die() does.
 */
#ifndef HOSTRACE_GUEST_VIRTIO_H
#define HOSTRACE_GUEST_VIRTIO_H

#include <stdint.h>

enum {
	VIRTIO_VENDOR = 0x1af4,
	VIRTQ_DESC_NEXT = 1,
	VIRTQ_DESC_WRITE = 2, /* the device writes */
	VIRTQ_DESC_INDIRECT = 4,
};

/* Features by bit, and flags that are alike for all devices (6). */
#define VIRTIO_F_INDIRECT_DESC (1ull << 28)
#define VIRTIO_F_EVENT_IDX     (1ull << 29)
#define VIRTIO_F_VERSION_1     (1ull << 32)
#define VIRTIO_F_RING_PACKED   (1ull << 34)

/* 4.1.4.3 */
struct virtio_pci_common_cfg {
	uint32_t device_feature_select, device_feature, driver_feature_select, driver_feature;
	uint16_t msix_config, num_queues;
	uint8_t device_status, config_generation;
	uint16_t queue_select, queue_size, queue_msix_vector, queue_enable, queue_notify_off;
	uint32_t queue_desc[2], queue_driver[2], queue_device[2];
};

/* Of a split queue (2.7.5). */
struct virtq_desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next;
};

struct virtio {
	volatile struct virtio_pci_common_cfg *common;
	volatile uint8_t *isr; /* reading it lowers the interrupt line (4.1.4.5) */
	uint8_t *notify;
	uint32_t notify_multiplier;
};

/* Orders accesses to memory that the device accesses, too. */
#define barrier() asm volatile("lock; addl $0, (%%esp)" : : : "memory")

/* The address of a base address register in memory, below 4 GiB. */
void *pci_bar_address(unsigned int slot, unsigned int bar);

/* Enables the device in a PCI slot (memory, bus master) and finds its registers. */
void virtio_find(struct virtio *v, unsigned int slot);

/* Resets the device and accepts `features`, VIRTIO_F_*. */
void virtio_negotiate(struct virtio *v, uint64_t features);

/* Selects a queue, for virtio_queue_start(). Returns how many entries it can have. */
uint16_t virtio_queue_select(struct virtio *v, uint16_t nr);

/*
 * Starts the selected queue with `size` entries; `driver` and `device` are its available and used ring, or its event
 * suppression structures if it is packed. Returns the register to which its number is written to notify the device.
 */
volatile uint16_t *virtio_queue_start(struct virtio *v, uint16_t size, const void *desc,
				      const volatile void *driver, const volatile void *device);

/* The device may use its queues. */
void virtio_ready(struct virtio *v);

#endif
