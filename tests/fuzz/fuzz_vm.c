// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What a VM's process shows of itself: its command line, a line of its mappings, its monitor's registers, regions and
 * disks; and a guest's page tables. The first byte selects which.
 */
#include <errno.h>

#include "vm/cmdline.h"
#include "vm/disk_server.h"
#include "vm/disks.h"
#include "vm/guest_ram.h"
#include "vm/qmp.h"
#include "walk.h"

enum { BASE = 0x10000000, ADDRESSES = 16 };

static void cmdline_walk(char *text, size_t size)
{
	char *words[64] = {NULL}, *quoted, path[32];
	struct vm_cmdline c;
	unsigned int nr = 0;

	for (size_t at = 0; at < size && nr < 64; at += strlen(text + at) + 1)
		words[nr++] = text + at;
	if (!vm_cmdline_parse(words, nr, &c)) {
		if (c.nr_devices > CMDLINE_DEVICES_MAX || strlen(c.name) > CMDLINE_TEXT_MAX)
			abort();
		vm_cmdline_free(&c);
	}
	disks_monitor_find(words, nr, path, sizeof(path));
	json_decref(disk_servers_parse(words, nr, nr ? words[nr - 1] : "", NULL));
	quoted = vm_cmdline_quote(words, nr);
	for (const char *q = quoted; q && *q; q++)
		if ((unsigned char)*q < ' ')
			abort(); /* it is printed */
	free(quoted);
}

/* What the human monitor prints: registers, or memory regions. */
static void monitor_walk(const char *text, bool regions, struct guest_space *space)
{
	json_t *list = NULL;

	if (!regions) {
		qmp_space_parse(text, space);
	} else if (!qmp_regions_parse(text, &list)) {
		if (!json_array_size(list) || json_array_size(list) > REGIONS_MAX)
			abort();
		json_decref(list);
	}
}

/* [query-block, query-blockstats, limits of groups] */
static void disks_walk(const char *text)
{
	json_t *answers = json_loads(text, 0, NULL),
	       *disks = disks_parse(json_array_get(answers, 0), json_array_get(answers, 1),
				    json_array_get(answers, 2)),
	       *between = disks_between(disks, disks);

	if (json_array_size(json_object_get(disks, "list")) > DISKS_MAX)
		abort();
	json_decref(between);
	json_decref(disks);
	json_decref(answers);
}

static size_t image_size;

static int image_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	if (addr < BASE || addr - BASE > image_size || size > image_size - (addr - BASE))
		return -EFAULT;
	memcpy(buf, (const uint8_t *)m->image + (addr - BASE), size);
	return 0;
}

/* Addresses from the image itself, through its page tables; no result may be beyond the RAM. */
static void tables_walk(const uint8_t *image, size_t size, enum guest_paging paging, bool slots)
{
	const struct guest_slot slot[] = {{0, BASE + size / 2, size - size / 2},
					  {UINT64_C(1) << 32, BASE, size / 2}};
	struct memory_range range = {
		.start = BASE, .end = BASE + size, .read = true, .write = true};
	struct memory m = {.read = image_read, .image = image, .range = &range, .nr = 1};
	struct guest_ram ram = {.base = BASE, .low = size, .size = size}, tries[4];
	uint64_t address, found;

	if (slots)
		ram = guest_ram_of_slots(slot, 2);
	image_size = size;
	guest_ram_tries(&m, size, tries, 4);
	for (size_t at = 0; at + 16 <= size && at < 16 * ADDRESSES; at += 16) {
		struct guest_space space = {.paging = paging};

		memcpy(&address, image + at, 8);
		memcpy(&space.cr3, image + at + 8, 8);
		space.cr3 %= size;
		found = guest_address(&m, &ram, &space, address);
		if (found && (found < BASE || found - BASE >= size))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_range range;
	struct guest_space space;
	uint8_t what = size ? data[0] : 0;
	char *text;

	if (!size)
		return 0;
	text = calloc(1, size); /* all but the first byte, and a NUL */
	memcpy(text, data + 1, size - 1);
	if (what % 4 == 0)
		cmdline_walk(text, size - 1);
	else if (what % 4 == 1)
		memory_range_parse(text, &range);
	else if (what % 16 == 10)
		disks_walk(text);
	else if (what % 4 == 2)
		monitor_walk(text, what & 4, &space);
	else if (size > 1)
		tables_walk((const uint8_t *)text, size - 1,
			    (enum guest_paging)(what / 4 % (GUEST_PAGING_5 + 1)), what & 128);
	free(text);
	return 0;
}
