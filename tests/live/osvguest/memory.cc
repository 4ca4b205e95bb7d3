// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The areas of OSv's address space, besides the kernel's that start.S has mapped: the linear map of physical memory three
 * times, of which one has pages of 4 KiB in its first 2 MiB; a file's mapping, read-only and not executable; anonymous
 * memory whose pages are in no order in physical memory.
 */
#include "osv.h"

enum : u64 { PRESENT = 1, WRITABLE = 2, LARGE = 0x80, NO_EXECUTE = 1ull << 63 };
enum { LINEAR_MIB = 1024, ANONYMOUS_PAGES = 40 };

struct table {
	u64 entry[512];
};
alignas(PAGE) static table tables[24];
alignas(PAGE) static u8 anonymous[ANONYMOUS_PAGES][PAGE];
alignas(PAGE) static u8 file_page[PAGE], zfs_page[PAGE];
static int nr_tables;

static u64 physical(const void *p)
{
	return (u64)p - KERNEL_SHIFT;
}

namespace mmu {
__attribute__((used)) static pt_element page_table_root;
}

/* The entry for an address at the lowest level (1: 4 KiB, 2: 2 MiB); tables on the way are made. */
static u64 *entry_of(u64 address, int lowest)
{
	u64 *at = page_root;

	for (int level = 4;; level--) {
		u64 *entry = &at[address >> (12 + 9 * (level - 1)) & 511];

		if (level == lowest)
			return entry;
		if (!(*entry & PRESENT))
			*entry = physical(&tables[nr_tables++]) | PRESENT | WRITABLE;
		at = (u64 *)((*entry & ~0xffful) + KERNEL_SHIFT);
	}
}

static void linear_map(u64 area, bool small_pages)
{
	for (u64 at = small_pages ? 2ul << 20 : 0; at < (u64)LINEAR_MIB << 20; at += 2 << 20)
		*entry_of(area + at, 2) = at | PRESENT | WRITABLE | LARGE;
	for (u64 at = 0; small_pages && at < 2 << 20; at += PAGE)
		*entry_of(area + at, 1) = at | PRESENT | WRITABLE;
}

char *ring_address(int cpu)
{
	return (char *)0x200000400038 + (u64)cpu * (RING_PAGES + 1) * PAGE;
}

void *module_page()
{
	return heap(file_page);
}

void *solaris_page()
{
	return heap(zfs_page);
}

static void no_execute_enable()
{
	u32 low, high;

	asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(0xc0000080));
	asm volatile("wrmsr" : : "c"(0xc0000080), "a"(low | 0x800), "d"(high)); /* EFER.NXE */
}

void memory_map()
{
	mmu::page_table_root.x = (u64)page_root | PRESENT | WRITABLE;
	no_execute_enable();
	linear_map(MAIN_AREA, true);
	linear_map(0x500000000000, false);
	linear_map(MEMPOOL_AREA, false);
	*entry_of(SOLARIS_BASE + 0x3000, 1) = physical(zfs_page) | PRESENT | WRITABLE | NO_EXECUTE;
	*entry_of(MODULE_BASE, 1) = physical(file_page) | PRESENT | NO_EXECUTE;
	for (int i = 0; i < 4; i++) /* a thread's stack */
		*entry_of(0x200000300000 + i * PAGE, 1) = physical(anonymous[i]) | PRESENT | WRITABLE | NO_EXECUTE;
	for (int i = 4; i < ANONYMOUS_PAGES; i++) /* rings */
		*entry_of(0x200000400000 + (i - 4) * PAGE, 1) =
			physical(anonymous[ANONYMOUS_PAGES + 3 - i]) | PRESENT | WRITABLE | NO_EXECUTE;
}
