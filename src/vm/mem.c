// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "vm/mem.h"

#define GIB4	 (UINT64_C(1) << 32)
#define ALIGNED	 (UINT64_C(2) << 20) /* VMMs align RAM to huge pages */
#define SMALLEST (UINT64_C(1) << 20)
#define FRAME	 UINT64_C(0x000ffffffffff000)

enum { MAPS_MAX = 4096, PTE_PRESENT = 1, PTE_LARGE = 1 << 7 };

int guest_process_open(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	fail(-errno, "cannot read the memory of process %d: %s", (int)pid, strerror(errno));
	return fail_hint(-errno, "run as root, or with CAP_SYS_PTRACE");
}

int guest_process_read(int fd, uint64_t at, void *to, size_t len)
{
	for (size_t done = 0; done < len;) {
		ssize_t n = pread(fd, (uint8_t *)to + done, len - done, (off_t)(at + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ESRCH; /* 0: the process is gone */
		done += (size_t)n;
	}
	return 0;
}

/* ---- where the RAM may be ---- */

struct range {
	uint64_t start, end;
};

static int by_size(const void *va, const void *vb)
{
	const struct range *a = va, *b = vb;
	uint64_t x = a->end - a->start, y = b->end - b->start;

	return x < y ? 1 : x > y ? -1 : 0;
}

static unsigned int ranges_read(FILE *f, struct range *range)
{
	char line[512], perms[5];
	unsigned int nr = 0;

	while (nr < MAPS_MAX && fgets(line, sizeof(line), f)) {
		struct range r;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &r.start, &r.end, perms) == 3 &&
		    perms[0] == 'r' && perms[1] == 'w' && r.end > r.start &&
		    r.end - r.start >= SMALLEST)
			range[nr++] = r;
	}
	qsort(range, nr, sizeof(*range), by_size);
	return nr;
}

struct tries {
	struct guest_ram *ram;
	unsigned int nr, max;
};

/* With every place where a PC's RAM may be split (QEMU's pc and q35: hw/i386/pc_{piix,q35}.c). */
static void try_add(struct tries *t, uint64_t base, uint64_t bytes)
{
	static const uint64_t splits[] = {0xc0000000, 0xe0000000, 0x80000000, 0xb0000000};

	for (unsigned int i = 0; i < 4 && t->nr < t->max; i++) {
		t->ram[t->nr++] = (struct guest_ram){base, splits[i]};
		if (bytes && bytes <= 0x80000000)
			return; /* it is not split */
	}
}

int guest_ram_tries(pid_t pid, uint64_t bytes, struct guest_ram *ret, unsigned int max)
{
	_cleanup_free_ struct range *range = calloc(MAPS_MAX, sizeof(*range));
	struct tries t = {.ram = ret, .max = max};
	char path[64];
	unsigned int nr;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = range ? fopen(path, "re") : NULL;
	if (!f)
		return fail(-errno, "%s: %s", path, strerror(errno));
	nr = ranges_read(f, range);
	fclose(f);
	for (int exact = 1; exact >= 0; exact--) /* those of the very size come first */
		for (unsigned int i = 0; i < nr; i++) {
			const struct range *r = &range[i];
			uint64_t size = r->end - r->start;
			uint64_t up = (r->start + ALIGNED - 1) & ~(ALIGNED - 1);

			if ((bytes && size < bytes) || (bytes && size == bytes) != exact)
				continue;
			try_add(&t, r->start, bytes);
			if (!exact && up != r->start && up < r->end)
				try_add(&t, up, bytes);
			if (!exact && bytes)
				try_add(&t, r->end - bytes, bytes);
		}
	return (int)t.nr;
}

/* ---- addresses ---- */

static uint64_t physical(const struct guest_ram *ram, uint64_t address)
{
	return address < GIB4 ? ram->base + address : ram->base + ram->low + (address - GIB4);
}

static bool entry_read(int fd, const struct guest_ram *ram, uint64_t table, uint64_t index,
		       unsigned int bytes, uint64_t *ret)
{
	*ret = 0;
	return !guest_process_read(fd, physical(ram, table + index * bytes), ret, bytes) &&
	       *ret & PTE_PRESENT;
}

static uint64_t walk_32(int fd, const struct guest_ram *ram, uint64_t cr3, uint64_t address)
{
	uint64_t entry;

	if (address >= GIB4 || !entry_read(fd, ram, cr3 & 0xfffff000, address >> 22, 4, &entry))
		return 0;
	if (entry & PTE_LARGE) /* bits 39:32 stand in 20:13 */
		return physical(ram, (entry & 0xffc00000) | (entry >> 13 & 0xff) << 32 |
					     (address & 0x3fffff));
	if (!entry_read(fd, ram, entry & 0xfffff000, address >> 12 & 0x3ff, 4, &entry))
		return 0;
	return physical(ram, (entry & 0xfffff000) | (address & 0xfff));
}

/* Tables of 512 entries from `level` (2: the page directory, 4: PML4) down; level n maps 12 + 9 * n bits. */
static uint64_t walk_512(int fd, const struct guest_ram *ram, uint64_t table, unsigned int level,
			 uint64_t address)
{
	for (;; level--) {
		unsigned int shift = 12 + 9 * (level - 1);
		uint64_t entry, within = (UINT64_C(1) << shift) - 1;

		if (!entry_read(fd, ram, table, address >> shift & 511, 8, &entry))
			return 0;
		if (level == 1 || (level <= 3 && entry & PTE_LARGE))
			return physical(ram, (entry & FRAME & ~within) | (address & within));
		table = entry & FRAME;
	}
}

uint64_t guest_address(int fd, const struct guest_ram *ram, const struct guest_space *space,
		       uint64_t address)
{
	uint64_t entry;

	switch (space->paging) {
	case GUEST_PAGING_32:
		return walk_32(fd, ram, space->cr3, address);
	case GUEST_PAGING_PAE: /* four pointers, 32-byte aligned */
		if (address >= GIB4 ||
		    !entry_read(fd, ram, space->cr3 & 0xffffffe0, address >> 30, 8, &entry))
			return 0;
		return walk_512(fd, ram, entry & FRAME, 2, address);
	case GUEST_PAGING_4:
		return walk_512(fd, ram, space->cr3 & FRAME, 4, address);
	case GUEST_PAGING_5:
		return walk_512(fd, ram, space->cr3 & FRAME, 5, address);
	default:
		return physical(ram, address);
	}
}
