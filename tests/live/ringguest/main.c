// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest with a ring (guestside/ring/ring.h): writes a known number of records between a known number of port writes,
 * says so on its serial line and halts for good. Command line: "ring=0" (the same work without a ring), "ring=1" (the
 * ring at a virtual address whose pages lie in memory in another order), "ring=2" (as it lies), "records=N", "outb=N".
 */
#include "guestside/ring/ring.h"

enum {
	COM1 = 0x3f8,
	PORT = 0x2f0, /* nothing is there */
	RING_PAGES = 64,
	PRESENT_WRITABLE = 3,
};

/* Where the linker script puts the ring's virtual address. */
extern uint8_t ring_virtual[];

struct start_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modules, cmdline;
};

extern uint64_t page_root[512];
static uint64_t pdpt_ring[512] __attribute__((aligned(4096))),
	pd_ring[512] __attribute__((aligned(4096))), pt_ring[512] __attribute__((aligned(4096)));
/* Both kinds of ring lie here. */
uint8_t ring_plain[RING_PAGES * 4096] __attribute__((aligned(4096)));

static struct ring ring;

static inline void outb(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

static void say(const char *text)
{
	for (; *text; text++)
		outb(COM1, (uint8_t)*text);
}

/* "name=N" of the command line. */
static uint64_t option(const char *line, const char *name, uint64_t otherwise)
{
	for (; line && *line; line++) {
		const char *n = name, *at = line;
		uint64_t v = 0;

		while (*n && *n == *at)
			n++, at++;
		if (*n || *at++ != '=')
			continue;
		for (; *at >= '0' && *at <= '9'; at++)
			v = v * 10 + (uint64_t)(*at - '0');
		return v;
	}
	return otherwise;
}

/* Virtual page i lies in frame 37 * i + 11: every frame once, none where one would guess. */
static void ring_map(void)
{
	uint64_t at = (uint64_t)ring_virtual;

	for (unsigned int i = 0; i < RING_PAGES; i++)
		pt_ring[(at >> 12 & 511) + i] =
			((uint64_t)ring_plain + (37 * i + 11) % RING_PAGES * 4096) |
			PRESENT_WRITABLE;
	pd_ring[at >> 21 & 511] = (uint64_t)pt_ring | PRESENT_WRITABLE;
	pdpt_ring[at >> 30 & 511] = (uint64_t)pd_ring | PRESENT_WRITABLE;
	page_root[at >> 39 & 511] = (uint64_t)pdpt_ring | PRESENT_WRITABLE;
	__asm__ volatile("mov %%cr3, %%rax; mov %%rax, %%cr3" : : : "rax", "memory");
}

static int ring_start(uint64_t kind)
{
	static const struct ring_event work = {
		.nr_fields = 3,
		.name = "work",
		.field = {{"n", RING_DEC, 1}, {"square", RING_DEC, 1}, {"text", RING_TEXT, 2}}};
	void *mem = kind == 1 ? (void *)ring_virtual : (void *)ring_plain;

	if (kind == 1)
		ring_map();
	if (ring_init(&ring, mem, sizeof(ring_plain), 1, 8, RING_OVERWRITE, "ringguest"))
		return -1;
	return ring_event_add(&ring, &work);
}

void guest_main(const struct start_info *info);

void guest_main(const struct start_info *info)
{
	const char *line = (const char *)info->cmdline;
	uint64_t kind = option(line, "ring", 1), records = option(line, "records", 143),
		 outbs = option(line, "outb", 23);
	int event = kind ? ring_start(kind) : -1;

	if (kind && event < 0)
		say("no ring\n");
	say("ready\n");
	for (uint64_t n = 0; n < (records > outbs ? records : outbs); n++) {
		uint64_t args[4] = {n, n * n};

		ring_text(args + 2, 2, "a text of 15 ..");
		if (n < records && event >= 0)
			ring_write(&ring, 0, 7, (uint16_t)event, args, 4);
		if (n < outbs)
			outb(PORT, (uint8_t)n);
	}
	say("done\n");
}
