// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A virtio-blk driver over virtio-pci, modern interface, one split virtqueue (virtio 1.2: 2.7 split
 * rings, 3.1 initialisation, 4.1.4 PCI capabilities, 5.2 block device).
 *
 * Request slot i owns descriptors 3i (header), 3i+1 (data) and 3i+2 (status byte), so nothing is
 * allocated. Completion is found in the used ring, by polling, or after the device's INTx line woke
 * us from hlt.
 */
#include "guest.h"

enum {
	VIRTIO_VENDOR = 0x1af4,
	BLK_TRANSITIONAL = 0x1001,
	BLK_MODERN = 0x1042,

	CAP_VENDOR = 9, /* PCI capability id */
	CFG_COMMON = 1,
	CFG_NOTIFY = 2,
	CFG_ISR = 3,

	STATUS_ACKNOWLEDGE = 1,
	STATUS_DRIVER = 2,
	STATUS_DRIVER_OK = 4,
	STATUS_FEATURES_OK = 8,

	DESC_NEXT = 1,
	DESC_DEVICE_WRITES = 2,
	AVAIL_NO_INTERRUPT = 1,
};

/* virtio 1.2, 4.1.4.3 */
struct common_cfg {
	uint32_t device_feature_select, device_feature, driver_feature_select, driver_feature;
	uint16_t msix_config, num_queues;
	uint8_t device_status, config_generation;
	uint16_t queue_select, queue_size, queue_msix_vector, queue_enable, queue_notify_off;
	uint32_t queue_desc[2], queue_driver[2], queue_device[2];
};

struct desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags, next;
};

struct avail {
	uint16_t flags, idx, ring[BLK_QUEUE_SIZE], used_event;
};

struct used {
	uint16_t flags, idx;
	struct {
		uint32_t id, len;
	} ring[BLK_QUEUE_SIZE];
	uint16_t avail_event, unused;
};

struct request {
	uint32_t type, reserved;
	uint64_t sector;
	volatile uint8_t status;
};

struct blk {
	struct desc desc[BLK_QUEUE_SIZE] __attribute__((aligned(16)));
	volatile struct avail avail;
	volatile struct used used __attribute__((aligned(4)));
	struct request request[BLK_SLOTS];
	volatile struct common_cfg *common;
	volatile uint16_t *notify;
	volatile uint8_t *isr;
	unsigned int irq;
	uint16_t taken; /* used entries looked at */
};

static struct blk disks[2];

#define barrier() asm volatile("lock; addl $0, (%%esp)" : : : "memory")

static void *bar_address(unsigned int slot, unsigned int bar)
{
	uint32_t low = pci_read32(slot, 0x10 + 4 * bar);

	if (low & 1)
		die("slot %u: BAR %u is an I/O BAR", slot, bar);
	if ((low & 6) == 4 && pci_read32(slot, 0x14 + 4 * bar))
		die("slot %u: BAR %u lies above 4 GiB", slot, bar);
	return (void *)(uintptr_t)(low & ~0xfu);
}

/* Walks the capabilities (4.1.4) and keeps the three that we use. */
static void find_config(struct blk *d, unsigned int slot, uint32_t *notify_multiplier)
{
	for (unsigned int at = pci_read8(slot, 0x34); at; at = pci_read8(slot, at + 1)) {
		if (pci_read8(slot, at) != CAP_VENDOR)
			continue;
		unsigned int type = pci_read8(slot, at + 3), bar = pci_read8(slot, at + 4);
		uint32_t offset = pci_read32(slot, at + 8);

		if (type == CFG_COMMON)
			d->common = bar_address(slot, bar) + offset;
		else if (type == CFG_ISR)
			d->isr = bar_address(slot, bar) + offset;
		else if (type == CFG_NOTIFY) {
			d->notify = bar_address(slot, bar) + offset;
			*notify_multiplier = pci_read32(slot, at + 16);
		}
	}
	if (!d->common || !d->notify || !d->isr)
		die("slot %u: no modern virtio interface", slot);
}

/* 3.1.1; of the features only VIRTIO_F_VERSION_1 (bit 32) is taken, and on request VIRTIO_F_EVENT_IDX (bit 29). */
static void negotiate(struct blk *d, bool event_idx)
{
	volatile struct common_cfg *c = d->common;

	c->device_status = 0;
	while (c->device_status)
		;
	c->device_status = STATUS_ACKNOWLEDGE | STATUS_DRIVER;
	c->driver_feature_select = 0;
	c->driver_feature = event_idx ? 1u << 29 : 0;
	c->driver_feature_select = 1;
	c->driver_feature = 1;
	c->device_status = STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK;
	if (!(c->device_status & STATUS_FEATURES_OK))
		die("the disk rejected VIRTIO_F_VERSION_1");
}

static void start_queue(struct blk *d, uint32_t notify_multiplier)
{
	volatile struct common_cfg *c = d->common;

	c->queue_select = 0;
	if (c->queue_size < BLK_QUEUE_SIZE)
		die("the disk's queue has only %u entries", (uint32_t)c->queue_size);
	c->queue_size = BLK_QUEUE_SIZE;
	c->queue_desc[0] = (uintptr_t)d->desc;
	c->queue_desc[1] = 0;
	c->queue_driver[0] = (uintptr_t)&d->avail;
	c->queue_driver[1] = 0;
	c->queue_device[0] = (uintptr_t)&d->used;
	c->queue_device[1] = 0;
	d->notify += c->queue_notify_off * notify_multiplier / sizeof(*d->notify);
	c->queue_enable = 1;
	c->device_status =
		STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES_OK | STATUS_DRIVER_OK;
}

struct blk *blk_open(unsigned int nr, unsigned int slot, bool event_idx)
{
	struct blk *d = &disks[nr];
	uint32_t id = pci_read32(slot, 0), multiplier = 0;

	if (id != (BLK_TRANSITIONAL << 16 | VIRTIO_VENDOR) &&
	    id != (BLK_MODERN << 16 | VIRTIO_VENDOR))
		die("no virtio-blk disk in PCI slot %u", slot);
	pci_write32(slot, 4, 6); /* command: memory space, bus master */
	d->irq = pci_read8(slot, 0x3c);
	if (d->irq >= 16)
		die("slot %u has no interrupt line", slot);
	find_config(d, slot, &multiplier);
	negotiate(d, event_idx);
	start_queue(d, multiplier);
	return d;
}

void blk_submit(struct blk *d, unsigned int slot, bool write, uint64_t sector, void *data,
		uint32_t bytes)
{
	struct request *rq = &d->request[slot];
	unsigned int head = 3 * slot;

	rq->type = write; /* VIRTIO_BLK_T_IN 0, VIRTIO_BLK_T_OUT 1 */
	rq->sector = sector;
	rq->status = 0xff;
	d->desc[head] = (struct desc){(uintptr_t)rq, 16, DESC_NEXT, head + 1};
	d->desc[head + 1] = (struct desc){(uintptr_t)data, bytes,
					  DESC_NEXT | (write ? 0 : DESC_DEVICE_WRITES), head + 2};
	d->desc[head + 2] = (struct desc){(uintptr_t)&rq->status, 1, DESC_DEVICE_WRITES, 0};
	d->avail.ring[d->avail.idx % BLK_QUEUE_SIZE] = head;
	barrier();
	d->avail.idx++;
}

void blk_kick(struct blk *d, bool want_interrupt)
{
	d->avail.flags = want_interrupt ? 0 : AVAIL_NO_INTERRUPT;
	d->avail.used_event = want_interrupt ? d->taken : (uint16_t)(d->taken - 1);
	barrier();
	*d->notify = 0;
}

uint16_t blk_done(struct blk *d)
{
	return d->used.idx;
}

/* Looks at the used entries that are new; a failed request is the end. */
static unsigned int take_used(struct blk *d)
{
	unsigned int nr = 0;

	for (; d->taken != d->used.idx; d->taken++, nr++) {
		uint32_t slot = d->used.ring[d->taken % BLK_QUEUE_SIZE].id / 3;

		if (slot >= BLK_SLOTS || d->request[slot].status)
			die("request failed, slot %u", slot);
	}
	return nr;
}

/* Halts until the device has raised its line; reading ISR lowers it (4.1.4.5). */
static void wait_line(struct blk *d)
{
	uint32_t seen = irq_count[d->irq];

	irq_enable(d->irq, true);
	wait_irq(d->irq, seen);
	(void)*d->isr;
}

void blk_take_interrupt(struct blk *d)
{
	wait_line(d);
}

/* Ten seconds or more on any machine; a count of loops would be nothing on one and hours on
 * another. */
#define PATIENCE_TICKS 40000000000ull

static uint64_t tsc_read(void)
{
	uint64_t v;

	asm volatile("rdtsc" : "=A"(v));
	return v;
}

void blk_wait(struct blk *d, unsigned int nr, bool by_interrupt)
{
	uint64_t begin = tsc_read();
	unsigned int done = 0;

	while (done < nr) {
		done += take_used(d);
		if (done < nr && by_interrupt)
			wait_line(d);
		else if (tsc_read() - begin > PATIENCE_TICKS)
			die("no reply from the disk, %u of %u requests done", done, nr);
		else
			take_irqs();
		barrier();
	}
}
