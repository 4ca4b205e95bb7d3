// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A virtio-blk driver with one split virtqueue (virtio 1.2: 2.7 split rings, 5.2 block device).
 *
 * Request slot i owns descriptors 3i (header), 3i+1 (data) and 3i+2 (status byte), so nothing is
 * allocated. Completion is found in the used ring, by polling, or after the device's INTx line woke
 * us from hlt.
 */
#include "guest.h"
#include "virtio.h"

enum {
	BLK_TRANSITIONAL = 0x1001,
	BLK_MODERN = 0x1042,
	AVAIL_NO_INTERRUPT = 1,
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
	struct virtq_desc desc[BLK_QUEUE_SIZE] __attribute__((aligned(16)));
	volatile struct avail avail;
	volatile struct used used __attribute__((aligned(4)));
	struct request request[BLK_SLOTS];
	struct virtio pci;
	volatile uint16_t *notify;
	unsigned int irq;
	uint16_t taken; /* used entries looked at */
};

static struct blk disks[2];

struct blk *blk_open(unsigned int nr, unsigned int slot, bool event_idx)
{
	struct blk *d = &disks[nr];
	uint32_t id = pci_read32(slot, 0), entries;

	if (id != (BLK_TRANSITIONAL << 16 | VIRTIO_VENDOR) &&
	    id != (BLK_MODERN << 16 | VIRTIO_VENDOR))
		die("no virtio-blk disk in PCI slot %u", slot);
	d->irq = pci_read8(slot, 0x3c);
	if (d->irq >= 16)
		die("slot %u has no interrupt line", slot);
	virtio_find(&d->pci, slot);
	virtio_negotiate(&d->pci, VIRTIO_F_VERSION_1 | (event_idx ? VIRTIO_F_EVENT_IDX : 0));
	entries = virtio_queue_select(&d->pci, 0);
	if (entries < BLK_QUEUE_SIZE)
		die("the disk's queue has only %u entries", entries);
	d->notify = virtio_queue_start(&d->pci, BLK_QUEUE_SIZE, d->desc, &d->avail, &d->used);
	virtio_ready(&d->pci);
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
	d->desc[head] = (struct virtq_desc){(uintptr_t)rq, 16, VIRTQ_DESC_NEXT, head + 1};
	d->desc[head + 1] = (struct virtq_desc){
		(uintptr_t)data, bytes, VIRTQ_DESC_NEXT | (write ? 0 : VIRTQ_DESC_WRITE), head + 2};
	d->desc[head + 2] = (struct virtq_desc){(uintptr_t)&rq->status, 1, VIRTQ_DESC_WRITE, 0};
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
	(void)*d->pci.isr;
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
