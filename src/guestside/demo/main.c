// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The demo guest: does a known amount of work (workload.h), checks what it reads, and ends QEMU
 * with a status that says whether all was right. The command line changes the counts: "reads=100
 * writes=50 outb=5 leak=4". "paced=80 ticks=10": 80 more writes, one every 10 ticks of the timer.
 */
#include "guest.h"

/*
 * Xen's public/arch-x86/hvm/start_info.h: magic at 0, flags at 8, physical address of the command
 * line at 24.
 */
struct start_info {
	uint32_t magic, version, flags, nr_modules;
	uint64_t modules, cmdline;
};
enum { START_INFO_MAGIC = 0x336ec578 };

static uint32_t reads = WORK_READS, writes = WORK_WRITES, outbs = WORK_OUTB, inbs = WORK_INB;
static uint32_t outsbs = WORK_OUTSB, insbs = WORK_INSB, mmios = WORK_MMIO, hlts = WORK_HLT,
		leaks = WORK_LEAK, nokick, masked, event_idx, paced, ticks = 10;
static uint32_t port = WORK_PORT, string_port = WORK_STRING_PORT, wait_ms = 1500;
static uint32_t disk_slot = WORK_DISK_SLOT, slow_slot = WORK_SLOW_SLOT;

/* clang-format off */
static const struct option {
	const char *name;
	uint32_t *to;
} options[] = {
	{"reads", &reads},     {"writes", &writes},   {"outb", &outbs},
	{"inb", &inbs},	       {"outsb", &outsbs},    {"insb", &insbs},
	{"mmio", &mmios},      {"hlt", &hlts},	      {"leak", &leaks},
	{"port", &port},       {"sport", &string_port}, {"wait_ms", &wait_ms},
	{"disk", &disk_slot},  {"slow", &slow_slot},  {"nokick", &nokick},
	{"masked", &masked},   {"event_idx", &event_idx}, {"paced", &paced}, {"ticks", &ticks},
};
/* clang-format on */

static uint32_t parse_number(const char **s)
{
	uint32_t v = 0;

	for (; **s >= '0' && **s <= '9'; (*s)++)
		v = v * 10 + (uint32_t)(**s - '0');
	return v;
}

/* Returns what follows "name=", or NULL. */
static const char *match(const char *s, const char *name)
{
	while (*name && *s == *name)
		s++, name++;
	return !*name && *s == '=' ? s + 1 : NULL;
}

static void parse_options(const char *s)
{
	while (*s) {
		const char *value = NULL;

		for (unsigned int i = 0; i < sizeof(options) / sizeof(*options) && !value; i++)
			if ((value = match(s, options[i].name)))
				*options[i].to = parse_number(&value);
		for (s = value ? value : s; *s && *s != ' '; s++)
			if (value)
				die("invalid number on the command line");
		while (*s == ' ')
			s++;
	}
}

/* ---- ports, strings, MMIO, halts ---- */

static void do_ports(void)
{
	uint32_t n;

	for (n = 0; n < outbs; n++)
		outb((uint16_t)port, (uint8_t)n);
	for (n = 0; n < inbs; n++)
		inb((uint16_t)port);
	say("outb %u inb %u port 0x%x\n", outbs, inbs, port);
}

static uint8_t bytes[4096];

static void do_strings(void)
{
	const void *from = bytes;
	void *to = bytes;
	uint32_t n = outsbs;

	if (outsbs > sizeof(bytes) || insbs > sizeof(bytes))
		die("outsb and insb must not exceed %u", (uint32_t)sizeof(bytes));
	if (n)
		asm volatile("rep outsb" : "+S"(from), "+c"(n) : "d"(string_port) : "memory");
	n = insbs;
	if (n)
		asm volatile("rep insb" : "+D"(to), "+c"(n) : "d"(string_port) : "memory");
	say("rep outsb %u rep insb %u port 0x%x\n", outsbs, insbs, string_port);
}

static void do_mmio(void)
{
	for (uint32_t n = 0; n < mmios; n++)
		if (mmio_read32(WORK_MMIO_ADDR) >> 16 !=
		    0x8086) /* the HPET's vendor, as QEMU has it */
			die("no HPET at 0x%x", WORK_MMIO_ADDR);
	say("mmio %u at 0x%x\n", mmios, WORK_MMIO_ADDR);
}

/* Halts until the timer has ticked n times. */
static void wait_ticks(uint32_t n)
{
	irq_enable(IRQ_TIMER, true);
	while (n--)
		wait_irq(IRQ_TIMER, irq_count[IRQ_TIMER]);
	irq_enable(IRQ_TIMER, false);
}

/* ---- disk ---- */

static uint32_t sectors[BLK_SLOTS][WORK_SECTOR / 4];

/*
 * Requests in flight at once, and whether their end is awaited by interrupt: gives the heatmap its
 * shape.
 */
static const struct {
	uint8_t depth;
	bool by_interrupt;
} batches[] = {
	{1, true}, {1, false}, {4, true}, {16, false}, {2, true}, {8, true}, {32, false}, {1, true},
};

static void fill_sector(uint32_t *words, uint32_t sector)
{
	for (uint32_t w = 0; w < WORK_SECTOR / 4; w++)
		words[w] = work_word(sector, w, 1);
}

static void check_sector(const uint32_t *words, uint32_t sector, uint32_t version)
{
	for (uint32_t w = 0; w < WORK_SECTOR / 4; w++)
		if (words[w] != work_word(sector, w, version))
			die("sector %u word %u is 0x%x", sector, w, words[w]);
}

static uint32_t sector_of(uint32_t request)
{
	return request % WORK_DISK_SECTORS;
}

/*
 * Requests first to first + nr - 1 at once. What was written (requests below `writes`) reads back
 * as written.
 */
static void do_batch(struct blk *d, bool write, uint32_t first, uint32_t nr, bool by_interrupt)
{
	for (uint32_t i = 0; i < nr; i++) {
		if (write)
			fill_sector(sectors[i], sector_of(first + i));
		blk_submit(d, i, write, sector_of(first + i), sectors[i], WORK_SECTOR);
	}
	blk_kick(d, by_interrupt);
	blk_wait(d, nr, by_interrupt);
	for (uint32_t i = 0; i < nr && !write; i++)
		check_sector(sectors[i], sector_of(first + i), sector_of(first + i) < writes);
}

static void do_requests(struct blk *d, bool write, uint32_t nr)
{
	uint32_t done = 0;

	for (uint32_t b = 0; done < nr; b = (b + 1) % (sizeof(batches) / sizeof(*batches))) {
		uint32_t depth = batches[b].depth < nr - done ? batches[b].depth : nr - done;

		do_batch(d, write, done, depth, batches[b].by_interrupt);
		done += depth;
	}
}

static void do_disk(void)
{
	if (!reads && !writes)
		return;
	struct blk *d = blk_open(0, disk_slot, event_idx);

	do_requests(d, true, writes);
	do_requests(d, false, reads);
	say("disk: %u writes, %u reads, all as expected\n", writes, reads);
}

/*
 * One write after the other, each `ticks` after the one before, so that their rate does not depend on the disk. Prints
 * a dot for each.
 */
static void do_paced(void)
{
	if (!paced)
		return;
	struct blk *d = blk_open(0, disk_slot, event_idx);

	irq_enable(IRQ_TIMER, true);
	for (uint32_t i = 0, due = irq_count[IRQ_TIMER]; i < paced; i++) {
		fill_sector(sectors[0], sector_of(i));
		blk_submit(d, 0, true, sector_of(i), sectors[0], WORK_SECTOR);
		blk_kick(d, true);
		blk_wait(d, 1, true);
		say(".");
		for (due += ticks; (int32_t)(irq_count[IRQ_TIMER] - due) < 0;)
			wait_irq(IRQ_TIMER, irq_count[IRQ_TIMER]);
	}
	irq_enable(IRQ_TIMER, false);
	say("\ndisk: %u paced writes\n", paced);
}

/* ---- requests that are never answered ---- */

static uint8_t slow_data[WORK_SLOW_BYTES];

/*
 * QEMU's throttle lets the first request through (once QEMU has paid, for a second, for reading the
 * disk's first sector) and then makes the others pay for it: after one request that fills the
 * bucket, `leaks` more stay with the device.
 */
static void do_leaks(void)
{
	if (!leaks)
		return;
	if (leaks > BLK_SLOTS)
		die("leak must not exceed %u", (uint32_t)BLK_SLOTS);
	struct blk *d = blk_open(1, slow_slot, event_idx);

	blk_submit(d, 0, true, 0, slow_data, WORK_SLOW_BYTES);
	blk_kick(d, true);
	blk_wait(d, 1, true);
	for (uint32_t i = 0; i < leaks; i++)
		blk_submit(d, i, true, i, slow_data, WORK_SLOW_BYTES);
	blk_kick(d, false);
	wait_ticks(wait_ms * TIMER_HZ / 1000);
	if (blk_done(d) != 1)
		die("the slow disk completed %u requests; is its throttling enabled?",
		    (uint32_t)blk_done(d) - 1);
	say("slow disk: %u requests not completed in %u ms\n", leaks, wait_ms);
}

/* ---- a driver that hangs ---- */

/*
 * After one read that is as it should be: `nokick` reads that the device is not told of, or `masked` reads whose
 * interrupt is masked in the interrupt controller. Then it waits.
 */
static void do_hang(void)
{
	uint32_t nr = nokick ? nokick : masked;

	if (!nr)
		return;
	if (nr > BLK_SLOTS)
		die("nokick and masked must not exceed %u", (uint32_t)BLK_SLOTS);
	struct blk *d = blk_open(0, disk_slot, event_idx);

	blk_submit(d, 0, false, 0, sectors[0], WORK_SECTOR);
	blk_kick(d, true);
	blk_take_interrupt(d); /* none of it may be left */
	blk_wait(d, 1, false);
	for (uint32_t i = 0; i < nr; i++)
		blk_submit(d, i, false, i, sectors[i], WORK_SECTOR);
	if (!nokick)
		blk_kick(d, true);
	say("hangs\n");
	wait_ticks(wait_ms * TIMER_HZ / 1000);
}

void guest_main(const struct start_info *info);

void guest_main(const struct start_info *info)
{
	if (info->magic != START_INFO_MAGIC)
		die("not started as a PVH kernel");
	platform_init();
	if (info->cmdline)
		parse_options((const char *)(uintptr_t)info->cmdline);
	say("demo guest: started\n");
	do_ports();
	do_strings();
	do_mmio();
	wait_ticks(hlts);
	say("hlt %u\n", hlts);
	do_disk();
	do_paced();
	do_leaks();
	do_hang();
	say("demo guest: all passed\n");
	power_off(WORK_EXIT_PASSED);
}
