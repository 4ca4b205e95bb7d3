// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest with a ring (guestside/ring/ring.h): writes a known number of records between a known number of port writes,
 * says so on its serial line and halts for good. Command line: "ring=0" (the same work without a ring), "ring=1" (the
 * ring at a virtual address whose pages lie in memory in another order), "ring=2" (as it lies), "records=N", "outb=N".
 *
 * "turns=LETTERS" divides the records into one part more than there are letters, writes to PORT before each record and
 * to PORT + 1 after it, and does before each further part what its letter says: w: prints "turn N" and waits until the
 * host has stored N in the scratch register of the serial port (HMP: o /b 0x3ff N); f: sets its TSC forward; b: back.
 */
#include "guestside/ring/ring.h"

enum {
	COM1 = 0x3f8,
	COM1_SCRATCH = COM1 + 7,
	PORT = 0x2f0, /* nothing is there, nor at the next */
	PIC0 = 0x20, /* its command port; the next is its data port */
	PIC1 = 0xa0,
	PIT_COUNTER0 = 0x40,
	PIT_COMMAND = 0x43,
	VECTOR_TICK = 0x20,
	CODE_SELECTOR = 8, /* pvh.inc */
	MSR_TSC = 0x10,
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
extern const uint8_t tick[]; /* the PIT's interrupt, start.S */
static uint64_t pdpt_ring[512] __attribute__((aligned(4096))),
	pd_ring[512] __attribute__((aligned(4096))), pt_ring[512] __attribute__((aligned(4096)));
/* Both kinds of ring lie here. */
uint8_t ring_plain[RING_PAGES * 4096] __attribute__((aligned(4096)));

static struct ring ring;

static inline void outb(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port) : "memory");
}

static inline uint8_t inb(uint16_t port)
{
	uint8_t v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port) : "memory");
	return v;
}

static void tsc_move(uint64_t ticks)
{
	uint64_t tsc = __builtin_ia32_rdtsc() + ticks;

	__asm__ volatile("wrmsr" : : "c"(MSR_TSC), "a"((uint32_t)tsc), "d"((uint32_t)(tsc >> 32)));
}

static void say(const char *text)
{
	for (; *text; text++)
		outb(COM1, (uint8_t)*text);
}

/* What follows "name=" in the command line, or NULL. */
static const char *option_text(const char *line, const char *name)
{
	for (; line && *line; line++) {
		const char *n = name, *at = line;

		while (*n && *n == *at)
			n++, at++;
		if (!*n && *at == '=')
			return at + 1;
	}
	return NULL;
}

/* "name=N" of the command line. */
static uint64_t option(const char *line, const char *name, uint64_t otherwise)
{
	const char *at = option_text(line, name);
	uint64_t v = 0;

	if (!at)
		return otherwise;
	for (; *at >= '0' && *at <= '9'; at++)
		v = v * 10 + (uint64_t)(*at - '0');
	return v;
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

/* The PIT's interrupt, 18 times a second, and no other. */
static void tick_start(void)
{
	static const uint8_t init[] = {VECTOR_TICK, 1 << 2, 1, 0xfe}; /* vector, cascade, 8086, mask */
	static uint64_t idt[2 * (VECTOR_TICK + 1)];
	struct __attribute__((packed)) {
		uint16_t limit;
		uint64_t base;
	} idtr = {sizeof(idt) - 1, (uint64_t)idt};
	uint64_t at = (uint64_t)tick;

	idt[2 * VECTOR_TICK] = (at & 0xffff) | CODE_SELECTOR << 16 | 0x8eull << 40 | at >> 16 << 48;
	idt[2 * VECTOR_TICK + 1] = at >> 32;
	__asm__ volatile("lidt %0" : : "m"(idtr), "m"(idt));
	outb(PIC1 + 1, 0xff);
	outb(PIC0, 0x11);
	for (unsigned int i = 0; i < sizeof(init); i++)
		outb(PIC0 + 1, init[i]);
	outb(PIT_COMMAND, 0x34);
	outb(PIT_COUNTER0, 0);
	outb(PIT_COUNTER0, 0);
}

/* It halts meanwhile: in Bochs 2.7 a guest that polls with interrupts off stops the host. */
static void host_await(uint8_t n)
{
	static bool ticks;

	if (!ticks)
		tick_start();
	ticks = true;
	while (inb(COM1_SCRATCH) != n)
		__asm__ volatile("sti; hlt; cli" : : : "memory");
}

static void turn_begin(char what, uint8_t n)
{
	char text[] = "turn 0\n";

	text[5] = (char)(text[5] + n);
	switch (what) {
	case 'w':
		say(text);
		host_await(n);
		break;
	case 'f':
		tsc_move(1ull << 32);
		break;
	case 'b':
		tsc_move(-(1ull << 31));
		break;
	}
}

void guest_main(const struct start_info *info);

void guest_main(const struct start_info *info)
{
	const char *line = (const char *)info->cmdline;
	uint64_t kind = option(line, "ring", 1), records = option(line, "records", 143),
		 outbs = option(line, "outb", 23);
	const char *turns = option_text(line, "turns");
	uint64_t nr_turns = 0, part;
	int event = kind ? ring_start(kind) : -1;

	while (turns && turns[nr_turns] > ' ')
		nr_turns++;
	if (kind && event < 0)
		say("no ring\n");
	part = records / (nr_turns + 1);
	say("ready\n");
	for (uint64_t n = 0; n < (records > outbs ? records : outbs); n++) {
		uint64_t args[4] = {n, n * n};

		ring_text(args + 2, 2, "a text of 15 ..");
		if (turns && n && n % part == 0 && n / part <= nr_turns)
			turn_begin(turns[n / part - 1], (uint8_t)(n / part));
		if (turns)
			outb(PORT, (uint8_t)n);
		if (n < records && event >= 0)
			ring_write(&ring, 0, 7, (uint16_t)event, args, 4);
		if (turns)
			outb(PORT + 1, (uint8_t)n);
		else if (n < outbs)
			outb(PORT, (uint8_t)n);
	}
	say("done\n");
}
