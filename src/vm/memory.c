// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory of another process, read while it runs: its mappings as /proc/PID/maps lists them when
 * it is opened, and reads that return all or fail. Opening needs the rights of ptrace(2): the same
 * user (and a kernel that allows it), or CAP_SYS_PTRACE; reading needs none. Nothing is stopped and
 * nothing written, so two reads may be of two moments.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "vm/guest_ram.h"
#include "vm/proc.h"

enum { MEMORY_RANGES_MAX = 65536 }; /* mappings beyond these are not seen; Linux allows 65530 */

static uint64_t physical(const struct guest_ram *ram, uint64_t address);

/* /proc/PID/mem stays bound to the address space that was opened: a later process of the same
 * number is not read. */
static int process_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t n = pread(m->fd, (uint8_t *)buf + done, size - done, (off_t)(addr + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EIO ? -EFAULT : -errno;
		if (!n)
			return -ESRCH;
		done += (size_t)n;
	}
	return 0;
}

static bool name_begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

/* "start-end perms offset device inode   name" */
bool memory_range_parse(const char *line, struct memory_range *ret)
{
	char perms[5] = "";
	uint64_t inode;
	int name = 0;

	*ret = (struct memory_range){0};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %*x:%*x %" SCNu64 " %n", &ret->start,
		   &ret->end, perms, &inode, &name) < 4 ||
	    strlen(perms) != 4 || ret->start >= ret->end)
		return false;
	ret->read = perms[0] == 'r';
	ret->write = perms[1] == 'w';
	ret->exec = perms[2] == 'x';
	ret->shared = perms[3] == 's';
	ret->file = inode != 0;
	if (!name)
		return true;
	line += name;
	ret->heap = name_begins(line, "[heap]");
	ret->secret = name_begins(line, "/secretmem");
	ret->device = name_begins(line, "/dev/vfio/") || name_begins(line, "/dev/mem") ||
		      name_begins(line, "anon_inode:[vfio-device]");
	return true;
}

static int ranges_read(struct memory *m)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	while (m->nr < MEMORY_RANGES_MAX && getline(&line, &size, m->maps) > 0) {
		if (array_room(m->range, m->nr))
			return -ENOMEM;
		m->nr += memory_range_parse(line, &m->range[m->nr]);
	}
	return 0;
}

static int cannot_read(pid_t pid, int err)
{
	if (err == -ESRCH || err == -ENOENT)
		return fail(-ESRCH, "process %d has exited", (int)pid);
	fail(err, "cannot read the memory of process %d: %s", (int)pid, strerror(-err));
	return fail_hint(err, "run as root, with CAP_SYS_PTRACE, or as the VM's user if "
			      "/proc/sys/kernel/yama/ptrace_scope is 0");
}

int memory_open(pid_t pid, uint64_t start, struct memory *ret)
{
	char path[64];
	int err;

	*ret = (struct memory){.read = process_read};
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	ret->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (ret->fd < 0) {
		err = -errno;
		*ret = (struct memory){0};
		return cannot_read(pid, err);
	}
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	ret->maps = fopen(path, "re");
	err = ret->maps ? ranges_read(ret) : cannot_read(pid, -errno);
	if (!err && (!ret->nr || (start && proc_start(pid) != start)))
		err = cannot_read(pid, -ESRCH);
	if (err)
		memory_close(ret);
	return err;
}

int memory_reread(struct memory *m)
{
	int err;

	rewind(m->maps);
	m->nr = 0;
	err = ranges_read(m);
	return err || m->nr ? err : fail(-ESRCH, "the process has exited");
}

void memory_close(struct memory *m)
{
	if (!m->read)
		return;
	close(m->fd);
	if (m->maps)
		fclose(m->maps);
	free(m->range);
	*m = (struct memory){0};
}

#define GIB4	 (UINT64_C(1) << 32)
#define ALIGNED	 (UINT64_C(2) << 20) /* VMMs align RAM to huge pages */
#define SMALLEST (UINT64_C(1) << 20)
#define FRAME	 UINT64_C(0x000ffffffffff000)

enum { MAPS_MAX = 4096, PTE_PRESENT = 1, PTE_LARGE = 1 << 7 };

/* ---- where the RAM may be ---- */

static int by_size(const void *va, const void *vb)
{
	const struct memory_range *a = va, *b = vb;
	uint64_t x = a->end - a->start, y = b->end - b->start;

	return order_u64(y, x) ?: order_u64(a->start, b->start);
}

/* The mappings that may be RAM, largest first. */
static unsigned int ranges_choose(const struct memory *m, struct memory_range *ret)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < m->nr && nr < MAPS_MAX; i++) {
		const struct memory_range *r = &m->range[i];

		if (r->read && r->write && r->end - r->start >= SMALLEST)
			ret[nr++] = *r;
	}
	qsort(ret, nr, sizeof(*ret), by_size);
	return nr;
}

struct tries {
	struct guest_ram *ram;
	unsigned int nr, max;
};

/* With every address at which a PC's RAM may be split (QEMU's pc and q35: hw/i386/pc_{piix,q35}.c). */
static void try_add(struct tries *t, uint64_t base, uint64_t end, uint64_t bytes)
{
	static const uint64_t splits[] = {0xc0000000, 0xe0000000, 0x80000000, 0xb0000000};
	uint64_t size = bytes && bytes < end - base ? bytes : end - base;

	for (unsigned int i = 0; i < 4 && t->nr < t->max; i++) {
		t->ram[t->nr++] =
			(struct guest_ram){.base = base, .low = splits[i], .size = size};
		if (bytes && bytes <= 0x80000000)
			return; /* it is not split */
	}
}

int guest_ram_tries(const struct memory *m, uint64_t bytes, struct guest_ram *ret, unsigned int max)
{
	_cleanup_free_ struct memory_range *range = calloc(MAPS_MAX, sizeof(*range));
	struct tries t = {.ram = ret, .max = max};
	unsigned int nr = range ? ranges_choose(m, range) : 0;

	if (!range)
		return fail(-ENOMEM, "out of memory");
	for (int exact = 1; exact >= 0; exact--) /* mappings of exactly this size first */
		for (unsigned int i = 0; i < nr; i++) {
			const struct memory_range *r = &range[i];
			uint64_t size = r->end - r->start;
			uint64_t up = (r->start + ALIGNED - 1) & ~(ALIGNED - 1);

			if ((bytes && size < bytes) || (bytes && size == bytes) != exact)
				continue;
			try_add(&t, r->start, r->end, bytes);
			if (!exact && up != r->start && up < r->end)
				try_add(&t, up, r->end, bytes);
			if (!exact && bytes)
				try_add(&t, r->end - bytes, r->end, bytes);
		}
	return (int)t.nr;
}

/* ---- addresses ---- */

struct guest_ram guest_ram_of_slots(const struct guest_slot *slot, size_t nr)
{
	struct guest_ram ram = {.slot = slot, .nr_slots = nr};

	for (size_t i = 0; i < nr; i++)
		ram.size += slot[i].size;
	return ram;
}

/* The slot that has this offset, which becomes one within the slot. */
static const struct guest_slot *slot_of(const struct guest_ram *ram, uint64_t *offset)
{
	for (size_t i = 0; i < ram->nr_slots; i++) {
		if (*offset < ram->slot[i].size)
			return &ram->slot[i];
		*offset -= ram->slot[i].size;
	}
	return NULL;
}

uint64_t guest_ram_at(const struct guest_ram *ram, uint64_t offset, uint64_t *ret_left)
{
	const struct guest_slot *slot;

	*ret_left = offset < ram->size ? ram->size - offset : 0;
	if (!*ret_left || !ram->nr_slots)
		return *ret_left ? ram->base + offset : 0;
	slot = slot_of(ram, &offset);
	*ret_left = slot->size - offset;
	return slot->process + offset;
}

uint64_t guest_ram_physical(const struct guest_ram *ram, uint64_t offset)
{
	const struct guest_slot *slot = slot_of(ram, &offset);

	if (ram->nr_slots)
		return slot ? slot->guest + offset : UINT64_MAX;
	return offset < ram->low ? offset : offset - ram->low + GIB4;
}

/* Between the end of low memory and 4 GiB are devices. */
bool guest_ram_offset(const struct guest_ram *ram, uint64_t physical, uint64_t *ret)
{
	*ret = physical < GIB4 ? physical : physical - GIB4 + ram->low;
	if (!ram->nr_slots)
		return *ret < ram->size && (physical >= GIB4 || physical < ram->low);
	*ret = 0;
	for (size_t i = 0; i < ram->nr_slots; i++) {
		if (physical - ram->slot[i].guest < ram->slot[i].size) {
			*ret += physical - ram->slot[i].guest;
			return true;
		}
		*ret += ram->slot[i].size;
	}
	return false;
}

bool guest_ram_of_process(const struct guest_ram *ram, uint64_t process, uint64_t *ret)
{
	*ret = process - ram->base;
	if (!ram->nr_slots)
		return *ret < ram->size;
	*ret = 0;
	for (size_t i = 0; i < ram->nr_slots; i++) {
		if (process - ram->slot[i].process < ram->slot[i].size) {
			*ret += process - ram->slot[i].process;
			return true;
		}
		*ret += ram->slot[i].size;
	}
	return false;
}

/* Address in the process of a physical one; 0: no RAM. */
static uint64_t physical(const struct guest_ram *ram, uint64_t address)
{
	uint64_t offset, left;

	return guest_ram_offset(ram, address, &offset) ? guest_ram_at(ram, offset, &left) : 0;
}

static bool entry_read(const struct memory *m, const struct guest_ram *ram, uint64_t table,
		       uint64_t index, unsigned int bytes, uint64_t *ret)
{
	uint64_t at = physical(ram, table + index * bytes);

	*ret = 0;
	return at && !memory_read(m, at, ret, bytes) && *ret & PTE_PRESENT;
}

static uint64_t walk_32(const struct memory *m, const struct guest_ram *ram, uint64_t cr3,
			uint64_t address)
{
	uint64_t entry;

	if (address >= GIB4 || !entry_read(m, ram, cr3 & 0xfffff000, address >> 22, 4, &entry))
		return 0;
	if (entry & PTE_LARGE) /* bits 39:32 are in 20:13 */
		return physical(ram, (entry & 0xffc00000) | (entry >> 13 & 0xff) << 32 |
					     (address & 0x3fffff));
	if (!entry_read(m, ram, entry & 0xfffff000, address >> 12 & 0x3ff, 4, &entry))
		return 0;
	return physical(ram, (entry & 0xfffff000) | (address & 0xfff));
}

/* Tables of 512 entries from `level` (2: the page directory, 4: PML4) down; level n maps 12 + 9 * n
 * bits. */
static uint64_t walk_512(const struct memory *m, const struct guest_ram *ram, uint64_t table,
			 unsigned int level, uint64_t address)
{
	for (;; level--) {
		unsigned int shift = 12 + 9 * (level - 1);
		uint64_t entry, within = (UINT64_C(1) << shift) - 1;

		if (!entry_read(m, ram, table, address >> shift & 511, 8, &entry))
			return 0;
		if (level == 1 || (level <= 3 && entry & PTE_LARGE))
			return physical(ram, (entry & FRAME & ~within) | (address & within));
		table = entry & FRAME;
	}
}

uint64_t guest_address(const struct memory *m, const struct guest_ram *ram,
		       const struct guest_space *space, uint64_t address)
{
	uint64_t entry;

	switch (space->paging) {
	case GUEST_PAGING_32:
		return walk_32(m, ram, space->cr3, address);
	case GUEST_PAGING_PAE: /* four pointers, 32-byte aligned */
		if (address >= GIB4 ||
		    !entry_read(m, ram, space->cr3 & 0xffffffe0, address >> 30, 8, &entry))
			return 0;
		return walk_512(m, ram, entry & FRAME, 2, address);
	case GUEST_PAGING_4:
		return walk_512(m, ram, space->cr3 & FRAME, 4, address);
	case GUEST_PAGING_5:
		return walk_512(m, ram, space->cr3 & FRAME, 5, address);
	default:
		return physical(ram, address);
	}
}

bool guest_ram_of_pairs(const struct memory *m, uint64_t bytes, const struct guest_ram_pair *pair,
			unsigned int nr, struct guest_ram *ret)
{
	struct guest_ram tries[GUEST_RAM_TRIES];
	int found = nr ? guest_ram_tries(m, bytes, tries, GUEST_RAM_TRIES) : 0;

	for (int i = 0; i < found; i++) {
		unsigned int fit = 0;

		while (fit < nr && physical(&tries[i], pair[fit].guest) == pair[fit].process)
			fit++;
		if (fit == nr) {
			*ret = tries[i];
			return true;
		}
	}
	return false;
}
