// SPDX-License-Identifier: GPL-2.0-or-later
/* Finds the capabilities of a virtio PCI device, negotiates features, and sets up its queues, without a C library. */
#include "virtio.h"

#include "guest.h"

enum {
	CAP_VENDOR = 9, /* PCI capability id */
	CFG_COMMON = 1,
	CFG_NOTIFY = 2,
	CFG_ISR = 3,

	STATUS_ACKNOWLEDGE = 1,
	STATUS_DRIVER = 2,
	STATUS_DRIVER_OK = 4,
	STATUS_FEATURES_OK = 8,
};

void *pci_bar_address(unsigned int slot, unsigned int bar)
{
	uint32_t low = pci_read32(slot, 0x10 + 4 * bar);

	if (low & 1)
		die("slot %u: BAR %u is an I/O BAR", slot, bar);
	if ((low & 6) == 4 && pci_read32(slot, 0x14 + 4 * bar))
		die("slot %u: BAR %u lies above 4 GiB", slot, bar);
	return (void *)(uintptr_t)(low & ~0xfu);
}

/* Walks the capabilities (4.1.4) and keeps the three that we use. */
void virtio_find(struct virtio *v, unsigned int slot)
{
	pci_write32(slot, 4, 6); /* command: memory space, bus master */
	for (unsigned int at = pci_read8(slot, 0x34); at; at = pci_read8(slot, at + 1)) {
		if (pci_read8(slot, at) != CAP_VENDOR)
			continue;
		unsigned int type = pci_read8(slot, at + 3), bar = pci_read8(slot, at + 4);
		uint32_t offset = pci_read32(slot, at + 8);

		if (type == CFG_COMMON)
			v->common = pci_bar_address(slot, bar) + offset;
		else if (type == CFG_ISR)
			v->isr = pci_bar_address(slot, bar) + offset;
		else if (type == CFG_NOTIFY) {
			v->notify = pci_bar_address(slot, bar) + offset;
			v->notify_multiplier = pci_read32(slot, at + 16);
		}
	}
	if (!v->common || !v->notify || !v->isr)
		die("slot %u: no modern virtio interface", slot);
}

/* 3.1.1 */
void virtio_negotiate(struct virtio *v, uint64_t features)
{
	volatile struct virtio_pci_common_cfg *c = v->common;

	c->device_status = 0;
	while (c->device_status)
		;
	c->device_status = STATUS_ACKNOWLEDGE | STATUS_DRIVER;
	c->driver_feature_select = 0;
	c->driver_feature = (uint32_t)features;
	c->driver_feature_select = 1;
	c->driver_feature = (uint32_t)(features >> 32);
	c->device_status = STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK;
	if (!(c->device_status & STATUS_FEATURES_OK))
		die("the device rejected features %x and %x", (uint32_t)(features >> 32),
		    (uint32_t)features);
}

uint16_t virtio_queue_select(struct virtio *v, uint16_t nr)
{
	v->common->queue_select = nr;
	return v->common->queue_size;
}

volatile uint16_t *virtio_queue_start(struct virtio *v, uint16_t size, const void *desc,
				      const volatile void *driver, const volatile void *device)
{
	volatile struct virtio_pci_common_cfg *c = v->common;

	c->queue_size = size;
	c->queue_desc[0] = (uintptr_t)desc;
	c->queue_desc[1] = 0;
	c->queue_driver[0] = (uintptr_t)driver;
	c->queue_driver[1] = 0;
	c->queue_device[0] = (uintptr_t)device;
	c->queue_device[1] = 0;
	c->queue_enable = 1;
	return (volatile uint16_t *)(v->notify + c->queue_notify_off * v->notify_multiplier);
}

void virtio_ready(struct virtio *v)
{
	v->common->device_status =
		STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK | STATUS_DRIVER_OK;
}
