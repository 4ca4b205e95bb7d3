// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest with a virtio-net device in PCI slot 4, modern interface, on the platform of the demo guest. It asks 10.9.0.1
 * for its hardware address (ARP) WORK_ARPS times, each time after the answer to the last one, then waits until it has
 * received WORK_UDPS IPv4 packets in all. It prints "ARPs IPv4-packets" to port 0xf4 and halts.
 */
#include "guestside/demo/guest.h"

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
	DESC_DEVICE_WRITES = 2,
};

/* virtio 1.2, 4.1.4.3 */
struct common_cfg {
	uint32_t device_feature_select, device_feature, driver_feature_select, driver_feature;
	uint16_t msix_config, num_queues;
	uint8_t device_status, config_generation;
	uint16_t queue_select, queue_size, queue_msix_vector, queue_enable, queue_notify_off;
	uint32_t queue_desc[2], queue_driver[2], queue_device[2];
};

static struct queue {
	struct {
		uint64_t addr;
		uint32_t len;
		uint16_t flags, next;
	} desc[QUEUE_SIZE] __attribute__((aligned(16)));
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
static volatile struct common_cfg *common;
static volatile uint8_t *isr;
static uint8_t *notify_base;
static uint32_t notify_multiplier;
static unsigned int line;

#define barrier() asm volatile("lock; addl $0, (%%esp)" : : : "memory")

static void config_find(void)
{
	for (unsigned int at = pci_read8(SLOT, 0x34); at; at = pci_read8(SLOT, at + 1)) {
		if (pci_read8(SLOT, at) != 9) /* vendor-specific: virtio's */
			continue;
		unsigned int type = pci_read8(SLOT, at + 3), bar = pci_read8(SLOT, at + 4);
		uint8_t *address =
			(uint8_t *)(uintptr_t)(pci_read32(SLOT, 0x10 + 4 * bar) & ~0xfu) +
			pci_read32(SLOT, at + 8);

		if (type == 1)
			common = (void *)address;
		else if (type == 3)
			isr = address;
		else if (type == 2) {
			notify_base = address;
			notify_multiplier = pci_read32(SLOT, at + 16);
		}
	}
	if (!common || !isr || !notify_base)
		die("no virtio-net in slot %u", (uint32_t)SLOT);
}

static void queue_start(unsigned int nr)
{
	struct queue *q = &queues[nr];

	common->queue_select = (uint16_t)nr;
	common->queue_size = QUEUE_SIZE;
	common->queue_desc[0] = (uintptr_t)q->desc;
	common->queue_desc[1] = 0;
	common->queue_driver[0] = (uintptr_t)&q->avail;
	common->queue_driver[1] = 0;
	common->queue_device[0] = (uintptr_t)&q->used;
	common->queue_device[1] = 0;
	q->notify = (void *)(notify_base + common->queue_notify_off * notify_multiplier);
	common->queue_enable = 1;
}

/* Of the features only VIRTIO_F_VERSION_1 (bit 32). */
static void device_start(void)
{
	pci_write32(SLOT, 4, 6); /* memory space, bus master */
	line = pci_read8(SLOT, 0x3c);
	config_find();
	common->device_status = 0;
	while (common->device_status)
		;
	common->device_status = 3; /* ACKNOWLEDGE, DRIVER */
	common->driver_feature_select = 0;
	common->driver_feature = 0;
	common->driver_feature_select = 1;
	common->driver_feature = 1;
	common->device_status = 11; /* FEATURES_OK */
	queue_start(RX);
	queue_start(TX);
	common->device_status = 15; /* DRIVER_OK */
}

static void buffer_give(unsigned int nr, unsigned int at, uint32_t bytes)
{
	struct queue *q = &queues[nr];

	q->desc[at].addr = (uintptr_t)frames[nr][at];
	q->desc[at].len = bytes;
	q->desc[at].flags = nr == RX ? DESC_DEVICE_WRITES : 0;
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
		(void)*isr;
	}
}

static void print(uint32_t v)
{
	if (v >= 10)
		print(v / 10);
	outb(0xf4, (uint8_t)('0' + v % 10));
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
	}
	wait_for(&udps, WORK_UDPS);
	print(arps);
	outb(0xf4, ' ');
	print(udps);
	outb(0xf4, '\n');
	for (;;)
		asm volatile("cli; hlt");
}
