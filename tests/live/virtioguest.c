// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest that leaves requests at virtio devices of all kinds, with every form of ring: for tests/live/stuck-matrix.sh.
 * "packed=1 indirect=1 event_idx=1 msix=1 nokick=SLOTS masked=SLOTS held=SLOTS", slots as bits of a number.
 *
 * nokick: one request is returned; of the next three the device is not told.
 * masked: one request is returned; the next three, too, but their interrupt does not arrive: the MSI-X vector is
 *	   masked, or nobody reads the ISR register, as if INTx were masked in the interrupt controller.
 * held:   three requests are at the device at any time, forever: what is behind it stops, not the guest.
 *
 * "pending=VECTOR", for tests/live/stuck-vcpu.sh: no devices; an interrupt that is never taken, because interrupts are
 * disabled, or, with "tpr=PRIORITY", are enabled and masked by the task priority.
 *
 * virtio 1.2: 2.7 split, 2.8 packed rings, 5 devices. Reuses the demo guest's platform.c and virtio.c.
 */
#include "guestside/demo/guest.h"
#include "guestside/demo/virtio.h"

enum {
	QUEUE_SIZE = 64, /* at most */
	PIECES = 4, /* descriptors of a request, at most */
	SLOTS = QUEUE_SIZE / PIECES,
	DEPTH = 3,
	BUFFERS = 4, /* offered for input */
	DATA_BYTES = 64 << 10,

	PACKED_AVAIL = 1 << 7,
	PACKED_USED = 1 << 15,

	NET = 1,
	BLK,
	CONSOLE,
	RNG,
	BALLOON,
	SCSI = 8,
};

/* Of either form of ring. */
struct desc {
	uint64_t addr;
	uint32_t len;
	uint16_t a, b; /* split: flags, next; packed: id, flags */
};

struct queue {
	struct desc desc[QUEUE_SIZE] __attribute__((aligned(16)));
	volatile struct {
		uint16_t flags, idx, ring[QUEUE_SIZE + 1]; /* behind its entries: used_event */
	} avail;
	volatile struct {
		uint16_t flags, idx;
		struct {
			uint32_t id, len;
		} ring[QUEUE_SIZE + 1];
	} used __attribute__((aligned(4)));
	volatile struct {
		uint16_t off_wrap, flags;
	} driver __attribute__((aligned(4))), device;
	struct desc table[SLOTS][PIECES] __attribute__((aligned(16)));
	uint8_t chain[SLOTS]; /* descriptors in the ring */
	unsigned int nr, size, slots, pieces; /* slots * pieces = size */
	unsigned int next, used_at;	      /* packed: positions */
	bool wrap, used_wrap;
	uint32_t submitted, taken;
	volatile uint16_t *notify;
};

struct piece {
	const void *data;
	uint32_t bytes;
	bool in;
};

/* Of any device's request: what it writes, and what it reads. */
struct request {
	uint8_t out[64], in[128];
};

static struct device {
	struct queue requests, buffers;
	struct request request[SLOTS];
	unsigned int type, slot;
	struct virtio pci;
	volatile uint32_t *msix_entry;
} devices[24];

static unsigned int nr_devices;
static uint8_t data[DATA_BYTES];
static uint32_t packed, indirect, event_idx, msix, nokick, masked, held, pending, tpr;

/* ---- rings ---- */

static void split_put(struct queue *q, const struct desc *list, unsigned int nr, unsigned int slot)
{
	for (unsigned int i = 0; i < nr; i++)
		q->desc[slot * q->pieces + i] = (struct desc){
			list[i].addr, list[i].len, list[i].a, (uint16_t)(slot * q->pieces + i + 1)};
	q->avail.ring[q->avail.idx % q->size] = (uint16_t)(slot * q->pieces);
	barrier();
	q->avail.idx++;
}

/* The flags of the first descriptor are written last: they make the chain available. */
static void packed_put(struct queue *q, const struct desc *list, unsigned int nr, unsigned int slot)
{
	unsigned int first = q->next;
	uint16_t first_flags = 0;

	for (unsigned int i = 0; i < nr; i++) {
		uint16_t flags = list[i].a | (q->wrap ? PACKED_AVAIL : PACKED_USED);

		q->desc[q->next].addr = list[i].addr;
		q->desc[q->next].len = list[i].len;
		q->desc[q->next].a = (uint16_t)slot;
		if (i)
			q->desc[q->next].b = flags;
		else
			first_flags = flags;
		if (++q->next == q->size) {
			q->next = 0;
			q->wrap = !q->wrap;
		}
	}
	barrier();
	*(volatile uint16_t *)&q->desc[first].b = first_flags;
}

static void put(struct queue *q, const struct piece *p, unsigned int nr)
{
	unsigned int slot = q->submitted++ % q->slots;
	struct desc list[PIECES];

	for (unsigned int i = 0; i < nr; i++)
		list[i] = (struct desc){(uintptr_t)p[i].data, p[i].bytes,
					(uint16_t)((i + 1 < nr ? VIRTQ_DESC_NEXT : 0) |
						   (p[i].in ? VIRTQ_DESC_WRITE : 0)),
					(uint16_t)(i + 1)};
	if (indirect) {
		for (unsigned int i = 0; i < nr; i++) {
			q->table[slot][i] = list[i];
			if (packed) { /* in order; only whether it is written counts: 2.8.8 */
				q->table[slot][i].a = 0;
				q->table[slot][i].b = list[i].a & VIRTQ_DESC_WRITE;
			}
		}
		list[0] = (struct desc){(uintptr_t)q->table[slot], nr * sizeof(struct desc),
					VIRTQ_DESC_INDIRECT, 0};
		nr = 1;
	}
	q->chain[slot] = (uint8_t)nr;
	if (packed)
		packed_put(q, list, nr, slot);
	else
		split_put(q, list, nr, slot);
}

/* Sees one returned request, if there is one. */
static bool take(struct queue *q)
{
	uint16_t flags = *(volatile uint16_t *)&q->desc[q->used_at].b;

	if (packed) {
		if (!(flags & PACKED_AVAIL) != !q->used_wrap ||
		    !(flags & PACKED_USED) != !q->used_wrap)
			return false;
		q->used_at += q->chain[*(volatile uint16_t *)&q->desc[q->used_at].a % q->slots];
		if (q->used_at >= q->size) {
			q->used_at -= q->size;
			q->used_wrap = !q->used_wrap;
		}
	} else if (q->used.idx == (uint16_t)q->taken) {
		return false;
	}
	q->taken++;
	return true;
}

/* Asks for an interrupt at the next returned request, or for none. */
static void want(struct queue *q, bool interrupt)
{
	q->avail.flags = !interrupt;
	q->avail.ring[q->size] = (uint16_t)(interrupt ? q->taken : q->taken - q->size - 1);
	q->driver.off_wrap = (uint16_t)(q->used_at | q->used_wrap << 15);
	q->driver.flags = !interrupt ? 1 : event_idx ? 2 : 0;
	barrier();
}

static void kick(struct queue *q)
{
	barrier();
	*q->notify = (uint16_t)q->nr;
}

/* ---- devices ---- */

/* One vector for all queues; masked or not. */
static void msix_enable(struct device *d, unsigned int at)
{
	uint32_t table = pci_read32(d->slot, at + 4);

	d->msix_entry = (volatile uint32_t *)((uint8_t *)pci_bar_address(d->slot, table & 7) +
					      (table & ~7u));
	d->msix_entry[0] = 0xfee00000;
	d->msix_entry[1] = 0;
	d->msix_entry[2] = 47;
	d->msix_entry[3] = 0;
	pci_write32(d->slot, at, pci_read32(d->slot, at) | 1u << 31);
}

static void msix_find(struct device *d)
{
	for (unsigned int at = pci_read8(d->slot, 0x34); at; at = pci_read8(d->slot, at + 1))
		if (pci_read8(d->slot, at) == 0x11)
			msix_enable(d, at);
}

static uint64_t features(const struct device *d)
{
	uint64_t f = VIRTIO_F_VERSION_1;

	f |= indirect ? VIRTIO_F_INDIRECT_DESC : 0;
	f |= event_idx ? VIRTIO_F_EVENT_IDX : 0;
	f |= packed ? VIRTIO_F_RING_PACKED : 0;
	if (d->type == CONSOLE || d->type == BALLOON)
		f |= 1 << 1; /* VIRTIO_CONSOLE_F_MULTIPORT, VIRTIO_BALLOON_F_STATS_VQ */
	return f;
}

static void queue_open(struct device *d, struct queue *q, unsigned int nr)
{
	unsigned int entries = virtio_queue_select(&d->pci, (uint16_t)nr);

	q->nr = nr;
	q->wrap = q->used_wrap = true;
	q->size = entries < QUEUE_SIZE ? entries : QUEUE_SIZE;
	q->pieces = d->type == RNG ? 1 : PIECES; /* its queue is small */
	q->slots = q->size / q->pieces;
	d->pci.common->queue_msix_vector = msix ? 0 : 0xffff;
	if (packed)
		q->notify = virtio_queue_start(&d->pci, (uint16_t)q->size, q->desc, &q->driver,
					       &q->device);
	else
		q->notify = virtio_queue_start(&d->pci, (uint16_t)q->size, q->desc, &q->avail,
					       &q->used);
}

/* The queue for requests, and one for input. Of a console, those of port 1. */
static void queues_open(struct device *d)
{
	static const struct {
		int8_t requests, buffers;
	} of[] = {[NET] = {1, 0},  [BLK] = {0, -1},    [CONSOLE] = {5, 4},
		  [RNG] = {0, -1}, [BALLOON] = {0, 2}, [SCSI] = {2, 1}};

	queue_open(d, &d->requests, (unsigned int)of[d->type].requests);
	if (of[d->type].buffers >= 0)
		queue_open(d, &d->buffers, (unsigned int)of[d->type].buffers);
	virtio_ready(&d->pci);
	if (of[d->type].buffers < 0)
		return;
	want(&d->buffers, false);
	for (unsigned int i = 0; i < (d->type == BALLOON ? 1 : BUFFERS); i++)
		put(&d->buffers, &(struct piece){data, 2048, d->type != BALLOON}, 1);
	kick(&d->buffers);
}

static const uint8_t types[] = {
	[0] = NET, [1] = BLK, [2] = BALLOON, [3] = CONSOLE, [4] = SCSI, [5] = RNG};

static void device_open(unsigned int slot)
{
	uint32_t id = pci_read32(slot, 0);
	struct device *d = &devices[nr_devices];

	if ((id & 0xffff) != VIRTIO_VENDOR)
		return;
	id = id >> 16;
	d->slot = slot;
	d->type = id >= 0x1040 ? id - 0x1040 : id - 0x1000 < sizeof(types) ? types[id - 0x1000] : 0;
	if (!d->type || (d->type > BALLOON && d->type != SCSI))
		return;
	if (nr_devices++ == sizeof(devices) / sizeof(devices[0]))
		die("too many devices");
	virtio_find(&d->pci, slot);
	if (msix)
		msix_find(d);
	virtio_negotiate(&d->pci, features(d));
	queues_open(d);
}

/* ---- requests ---- */

static void be32(uint8_t *p, uint32_t v)
{
	for (unsigned int i = 0; i < 4; i++)
		p[i] = (uint8_t)(v >> (24 - 8 * i));
}

/* A write of 128 sectors from sector `nr` on; the command begins at 19, behind lun, id and three bytes (5.6.6.1). */
static unsigned int scsi_request(struct request *r, struct piece *p, uint32_t nr)
{
	r->out[0] = 1; /* LUN 0 of target 0 */
	r->out[2] = 0x40;
	r->out[19] = 0x2a;
	be32(r->out + 21, nr);
	r->out[27] = DATA_BYTES / 512;
	p[0] = (struct piece){r->out, 51, false};
	p[1] = (struct piece){data, DATA_BYTES, false};
	p[2] = (struct piece){r->in, 108, true};
	return 3;
}

static unsigned int blk_request(struct request *r, struct piece *p, uint32_t nr)
{
	*(uint32_t *)(void *)r->out = 1; /* VIRTIO_BLK_T_OUT */
	*(uint64_t *)(void *)(r->out + 8) = nr;
	p[0] = (struct piece){r->out, 16, false};
	p[1] = (struct piece){data, DATA_BYTES, false};
	p[2] = (struct piece){r->in, 1, true};
	return 3;
}

static void submit(struct device *d)
{
	struct queue *q = &d->requests;
	struct request *r = &d->request[q->submitted % q->slots];
	struct piece p[PIECES] = {{r->out, sizeof(r->out), false}};
	unsigned int nr = 1;

	if (d->type == BLK)
		nr = blk_request(r, p, q->submitted);
	else if (d->type == SCSI)
		nr = scsi_request(r, p, q->submitted);
	else if (d->type == RNG)
		p[0] = (struct piece){r->in, sizeof(r->in), true};
	else if (d->type == BALLOON)
		p[0].bytes = 4; /* the number of a page */
	else
		p[nr++] = (struct piece){data, 1400, false};
	if (d->type == NET)
		p[0].bytes = 12; /* its header, all zero */
	if (d->type == BALLOON)
		*(uint32_t *)(void *)r->out = 0x1800 + q->submitted; /* at 24 MiB */
	put(q, p, nr);
}

static void one(struct device *d)
{
	want(&d->requests, true);
	submit(d);
	kick(&d->requests);
	while (!take(&d->requests))
		asm volatile("pause");
	want(&d->requests, true);
	while (!*d->pci.isr) /* set after the request was returned; reading clears it */
		asm volatile("pause");
}

static void three(struct device *d, bool told)
{
	if (d->msix_entry && told)
		d->msix_entry[3] = 1;
	for (unsigned int i = 0; i < DEPTH; i++)
		submit(d);
	if (told)
		kick(&d->requests);
}

/* Keeps as many requests at the device. */
static void fill(struct device *d)
{
	struct queue *q = &d->requests;
	bool any = false;

	want(q, false);
	while (take(q))
		;
	for (; q->submitted - q->taken < DEPTH; any = true)
		submit(d);
	if (any)
		kick(q);
}

/* ---- command line ---- */

static uint32_t option(const char *s, const char *name)
{
	for (; *s; s++) {
		const char *n = name, *p = s;
		uint32_t v = 0;

		for (; *n && *n == *p; n++, p++)
			;
		if (*n || *p != '=')
			continue;
		for (p++; *p >= '0' && *p <= '9'; p++)
			v = v * 10 + (uint32_t)(*p - '0');
		return v;
	}
	return 0;
}

static void options_read(const char *s)
{
	packed = option(s, "packed");
	indirect = option(s, "indirect");
	event_idx = option(s, "event_idx");
	msix = option(s, "msix");
	nokick = option(s, "nokick");
	masked = option(s, "masked");
	held = option(s, "held");
	pending = option(s, "pending");
	tpr = option(s, "tpr");
}

/* ---- an interrupt that is not taken ---- */

static void apic_write(uint32_t at, uint32_t v)
{
	*(volatile uint32_t *)(0xfee00000 + at) = v;
}

void spin(void) __attribute__((noreturn, noinline));

void spin(void)
{
	for (;;)
		asm volatile("pause");
}

/* To itself; interrupts are off, or masked. */
static void interrupt_send(uint32_t vector)
{
	apic_write(0xf0, 0x1ff);	     /* the APIC is on */
	apic_write(0x80, tpr);
	if (tpr)
		asm volatile("sti");
	apic_write(0x300, 1 << 18 | vector); /* ICR: to self, fixed */
	say("virtio guest: spins\n");
	spin();
}

static bool in(uint32_t slots, const struct device *d)
{
	return slots >> d->slot & 1;
}

void guest_main(const uint32_t *start_info);

/* Xen's struct start_info: the command line's address at 24. */
void guest_main(const uint32_t *start_info)
{
	options_read((const char *)(uintptr_t)start_info[6]);
	platform_init();
	if (pending)
		interrupt_send(pending);
	for (unsigned int slot = 1; slot < 32; slot++)
		device_open(slot);
	for (unsigned int i = 0; i < nr_devices; i++) {
		if (!in(nokick | masked, &devices[i]))
			continue;
		one(&devices[i]);
		three(&devices[i], in(masked, &devices[i]));
	}
	say("virtio guest: %u devices\n", nr_devices);
	irq_enable(IRQ_TIMER, true);
	for (;; wait_irq(IRQ_TIMER, irq_count[IRQ_TIMER]))
		for (unsigned int i = 0; i < nr_devices; i++) {
			if (in(held, &devices[i]))
				fill(&devices[i]);
			if (!in(masked, &devices[i])) /* QEMU may raise INTx more than once */
				(void)*devices[i].pci.isr;
		}
}
