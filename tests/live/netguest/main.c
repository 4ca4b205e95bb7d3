// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest with a virtio-net device in PCI slot 4, modern interface, on the platform of the demo guest. It asks 10.9.0.1
 * for its hardware address (ARP) WORK_ARPS times, each time after the answer to the last one, then waits until it has
 * received WORK_UDPS IPv4 packets in all. It prints "ARPs IPv4-packets" to port 0xf4 and halts.
 */
#include "guestside/demo/guest.h"
#include "guestside/demo/virtio.h"

enum {
	WORK_ARPS = 20,
	WORK_UDPS = 20,
	SLOT = 4,
	QUEUE_SIZE = 16,
	RX = 0,
	TX = 1,
	FRAME_BYTES = 2048,
	HEADER_BYTES = 12, /* struct virtio_net_hdr with num_buffers (virtio 1.2, 5.1.6) */
	ARP_BYTES = 42,
};

static struct queue {
	struct virtq_desc desc[QUEUE_SIZE] __attribute__((aligned(16)));
	volatile struct {
		uint16_t flags, idx, ring[QUEUE_SIZE], used_event;
	} avail;
	volatile struct {
		uint16_t flags, idx;
		struct {
			uint32_t id, len;
		} ring[QUEUE_SIZE];
		uint16_t avail_event;
	} used __attribute__((aligned(4)));
	volatile uint16_t *notify;
	uint16_t taken;
} queues[2];

static uint8_t frames[2][QUEUE_SIZE][FRAME_BYTES];
static struct virtio pci;
static unsigned int line;

static void queue_start(unsigned int nr)
{
	struct queue *q = &queues[nr];

	virtio_queue_select(&pci, (uint16_t)nr);
	q->notify = virtio_queue_start(&pci, QUEUE_SIZE, q->desc, &q->avail, &q->used);
}

static void device_start(void)
{
	line = pci_read8(SLOT, 0x3c);
	virtio_find(&pci, SLOT);
	virtio_negotiate(&pci, VIRTIO_F_VERSION_1);
	queue_start(RX);
	queue_start(TX);
	virtio_ready(&pci);
}

static void buffer_give(unsigned int nr, unsigned int at, uint32_t bytes)
{
	struct queue *q = &queues[nr];

	q->desc[at].addr = (uintptr_t)frames[nr][at];
	q->desc[at].len = bytes;
	q->desc[at].flags = nr == RX ? VIRTQ_DESC_WRITE : 0;
	q->avail.ring[q->avail.idx % QUEUE_SIZE] = (uint16_t)at;
	barrier();
	q->avail.idx++;
	barrier();
}

static void arp_send(void)
{
	static const uint8_t request[ARP_BYTES] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x52, 0x54, 0, 0x12, 0x34, 0x56, 8, 6, /* Ethernet */
		0, 1, 8, 0, 6, 4, 0, 1,							   /* who has */
		0x52, 0x54, 0, 0x12, 0x34, 0x56, 10, 9, 0, 2, 0, 0, 0, 0, 0, 0, 10, 9, 0, 1};
	uint8_t *frame = frames[TX][0] + HEADER_BYTES;

	for (unsigned int i = 0; i < ARP_BYTES; i++)
		frame[i] = request[i];
	buffer_give(TX, 0, HEADER_BYTES + ARP_BYTES);
	*queues[TX].notify = TX;
}

static uint32_t arps, udps;

/* Counts the packets that have come, and gives their buffers back. */
static void receive(void)
{
	struct queue *q = &queues[RX];
	bool any = false;

	for (; q->taken != q->used.idx; q->taken++, any = true) {
		uint32_t at = q->used.ring[q->taken % QUEUE_SIZE].id;
		const uint8_t *frame = frames[RX][at] + HEADER_BYTES;

		arps += frame[12] == 8 && frame[13] == 6 && frame[21] == 2; /* an answer */
		udps += frame[12] == 8 && frame[13] == 0;
		buffer_give(RX, at, FRAME_BYTES);
	}
	if (any)
		*q->notify = RX;
}

/* Halts until the device has raised its line, which reading the ISR lowers. */
static void wait_for(const uint32_t *count, uint32_t wanted)
{
	for (receive(); *count < wanted; receive()) {
		uint32_t seen = irq_count[line];

		irq_enable(line, true);
		wait_irq(line, seen);
		(void)*pci.isr;
	}
}

static void print(uint32_t v)
{
	if (v >= 10)
		print(v / 10);
	outb(0xf4, (uint8_t)('0' + v % 10));
}

/* Until QEMU's thread sleeps again, so that the next notification wakes it: each write is an exit to QEMU. */
static void pause(void)
{
	for (unsigned int i = 0; i < 200; i++)
		outb(0x80, 0);
}

void guest_main(const void *info);

void guest_main(const void *info)
{
	(void)info;
	platform_init();
	device_start();
	for (unsigned int i = 0; i < QUEUE_SIZE; i++)
		buffer_give(RX, i, FRAME_BYTES);
	*queues[RX].notify = RX;
	for (uint32_t i = 1; i <= WORK_ARPS; i++) {
		arp_send();
		wait_for(&arps, i);
		pause();
	}
	wait_for(&udps, WORK_UDPS);
	print(arps);
	outb(0xf4, ' ');
	print(udps);
	outb(0xf4, '\n');
	for (;;)
		asm volatile("cli; hlt");
}
