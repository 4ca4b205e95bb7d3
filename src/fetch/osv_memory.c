// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An OSv guest's memory: the free ranges, which the allocator keeps in the ranges themselves, in 16 lists by size and
 * a tree of the largest; the mappings, a tree by address that begins and ends with an empty one; the page tables.
 *
 * In `heap`, all ranges of a list are shown; OSv's own command shows the first one.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/error.h"
#include "fetch/osv_containers.h"
#include "fetch/osv_state.h"

#define PAGE_ADDRESS UINT64_C(0x000ffffffffff000)

enum { LIST_BYTES = 16, LISTS_MAX = 64, TREE = -1 };

/* ---- free ranges ---- */

struct heap_walk {
	struct osv_guest g;
	uint64_t ranges;
	uint32_t huge, lists, lists_bytes;
	uint32_t size, set_hook, list_hook;
	int list; /* that is being read */
	struct osv_free_range *row;
	size_t nr;
};

static int heap_find(void *walk)
{
	struct heap_walk *w = walk;
	const struct layout_member members[] = {
		{"memory::page_range_allocator", "_free_huge.holder.root.parent_", &w->huge, NULL},
		{"memory::page_range_allocator", "_free", &w->lists, &w->lists_bytes},
		{"memory::page_range", "size", &w->size, NULL},
		{"memory::page_range", "set_hook", &w->set_hook, NULL},
		{"memory::page_range", "list_hook", &w->list_hook, NULL},
	};
	int err = layout_symbol(w->g.layout, "_ZN6memory16free_page_rangesE", &w->ranges);

	return err ? err : layout_members(w->g.layout, members, sizeof(members) / sizeof(*members));
}

static int range_add(void *arg, uint64_t node)
{
	struct heap_walk *w = arg;
	struct osv_free_range r = {.address = node - (w->list == TREE ? w->set_hook : w->list_hook),
				   .list = w->list};
	int err = osv_guest_u64(&w->g, r.address + w->size, &r.bytes);

	if (err)
		return osv_guest_lose(&w->g, "free range", r.address, err);
	return array_add(w->row, w->nr, r);
}

static int heap_walk(void *walk)
{
	struct heap_walk *w = walk;
	unsigned int nr = w->lists_bytes / LIST_BYTES;
	uint64_t root;
	int err = osv_guest_u64(&w->g, w->ranges + w->huge, &root);

	w->list = TREE;
	if (!err)
		err = osv_tree_walk(&w->g, "tree of free ranges", root, OSV_BOOST_LEFT, range_add,
				    w);
	for (unsigned int i = 0; i < nr && i < LISTS_MAX && !err; i++) {
		w->list = (int)i;
		err = osv_list_walk(&w->g, "list of free ranges",
				    w->ranges + w->lists + (uint64_t)i * LIST_BYTES, range_add, w);
	}
	return err;
}

int osv_heap(const struct osv_guest_options *opt, struct osv_rows *ret, struct osv_pause *ret_pause)
{
	struct heap_walk w = {0};
	int err = osv_guest_visit(opt, &w.g, heap_find, heap_walk, &w, ret_pause);

	osv_guest_close(&w.g);
	*ret = (struct osv_rows){w.row, w.nr, sizeof(*w.row)};
	return err;
}

/* ---- mappings ---- */

struct mappings_layout {
	uint64_t list;
	uint32_t root, hook, start, end, perm, flags, file, offset, dentry, path;
};

struct mappings_walk {
	struct osv_guest g;
	struct mappings_layout at;
	struct osv_mapping *row;
	size_t nr;
};

static int mappings_layout_find(struct layout *l, struct mappings_layout *at)
{
	const struct layout_member members[] = {
		{"mmu::vma_list_type", "holder.root.parent_", &at->root, NULL},
		{"mmu::vma", "_vma_list_hook", &at->hook, NULL},
		{"mmu::vma", "_range._start", &at->start, NULL},
		{"mmu::vma", "_range._end", &at->end, NULL},
		{"mmu::vma", "_perm", &at->perm, NULL},
		{"mmu::vma", "_flags", &at->flags, NULL},
		{"mmu::file_vma", "_file.px", &at->file, NULL},
		{"mmu::file_vma", "_offset", &at->offset, NULL},
		{"file", "f_dentry.px", &at->dentry, NULL},
		{"dentry", "d_path", &at->path, NULL},
	};
	int err = layout_symbol(l, "_ZN3mmu8vma_listE", &at->list);

	return err ? err : layout_members(l, members, sizeof(members) / sizeof(*members));
}

static int mappings_find(void *walk)
{
	struct mappings_walk *w = walk;

	return mappings_layout_find(w->g.layout, &w->at);
}

/* Its file's path, from one object to the next. */
static int path_read(struct mappings_walk *w, struct osv_mapping *m)
{
	const uint32_t step[] = {w->at.file, w->at.dentry, w->at.path};
	uint64_t at = m->address;
	int err = osv_guest_u64(&w->g, m->address + w->at.offset, &m->offset);

	for (unsigned int i = 0; i < 3 && !err; i++)
		err = osv_guest_u64(&w->g, at + step[i], &at);
	return err ? err : osv_guest_text(&w->g, at, m->path, sizeof(m->path));
}

static int mapping_add(void *arg, uint64_t node)
{
	struct mappings_walk *w = arg;
	struct osv_mapping m = {.address = node - w->at.hook};
	struct osv_member members[] = {{w->at.start, 8, &m.start},
				       {w->at.end, 8, &m.end},
				       {w->at.perm, 4, &m.perm},
				       {w->at.flags, 4, &m.flags}};
	int err = osv_guest_members(&w->g, m.address, members, 4);

	if (err)
		return osv_guest_lose(&w->g, "mapping", m.address, err);
	m.file = m.flags & OSV_MAPPING_FILE;
	err = m.file ? path_read(w, &m) : 0;
	if (err) {
		*m.path = '\0';
		err = osv_guest_lose(&w->g, "mapping's file", m.address, err);
	}
	if (err || array_room(w->row, w->nr))
		return err ? err : -ENOMEM;
	w->row[w->nr++] = m;
	return 0;
}

static int mappings_walk(void *walk)
{
	struct mappings_walk *w = walk;
	uint64_t root;
	int err = osv_guest_u64(&w->g, w->at.list + w->at.root, &root);

	return err ? err
		   : osv_tree_walk(&w->g, "list of mappings", root, OSV_BOOST_LEFT, mapping_add, w);
}

int osv_mappings(const struct osv_guest_options *opt, struct osv_rows *ret,
		 struct osv_pause *ret_pause)
{
	struct mappings_walk w = {0};
	int err = osv_guest_visit(opt, &w.g, mappings_find, mappings_walk, &w, ret_pause);

	osv_guest_close(&w.g);
	*ret = (struct osv_rows){w.row, w.nr, sizeof(*w.row)};
	return err;
}

/* ---- totals ---- */

struct memory_walk {
	struct osv_guest g;
	struct mappings_layout at;
	uint64_t physical, total, free; /* variables */
	uint64_t reclaimer;		/* 0: this build has none */
	uint32_t waiters, waiter_owner, waiter_bytes, thread_id;
	struct osv_memory *ret;
};

static int memory_find(void *walk)
{
	struct memory_walk *w = walk;
	struct layout *l = w->g.layout;
	const struct layout_member members[] = {
		{"memory::reclaimer", "_oom_blocked._waiters.data_.root_plus_size_.m_header",
		 &w->waiters, NULL},
		{"memory::reclaimer_waiters::wait_node", "owner", &w->waiter_owner, NULL},
		{"memory::reclaimer_waiters::wait_node", "bytes", &w->waiter_bytes, NULL},
		{"sched::thread", "_id", &w->thread_id, NULL},
	};
	int err = layout_symbol(l, "_ZN6memory13phys_mem_sizeE", &w->physical);

	if (!err)
		err = layout_symbol(l, "_ZN6memoryL12total_memoryE", &w->total);
	if (!err)
		err = layout_symbol(l, "_ZN6memoryL11free_memoryE", &w->free);
	if (!err)
		err = mappings_layout_find(l, &w->at);
	if (layout_symbol(l, "_ZN6memory16reclaimer_threadE", &w->reclaimer) ||
	    layout_members(l, members, sizeof(members) / sizeof(*members)))
		w->reclaimer = 0;
	w->ret->waiters_known = w->reclaimer;
	return err;
}

static int mapping_count(void *arg, uint64_t node)
{
	struct memory_walk *w = arg;
	uint64_t start, end, mapping = node - w->at.hook;
	struct osv_member members[] = {{w->at.start, 8, &start}, {w->at.end, 8, &end}};
	int err = osv_guest_members(&w->g, mapping, members, 2);

	if (!err && end < start)
		err = fail(-EBADMSG, "it ends before it begins");
	if (err)
		return osv_guest_lose(&w->g, "mapping", mapping, err);
	w->ret->mapped += end - start;
	w->ret->nr_mappings++;
	return 0;
}

static int waiter_add(void *arg, uint64_t node)
{
	struct memory_walk *w = arg;
	struct osv_memory *m = w->ret;
	uint64_t thread, bytes;
	uint32_t id;
	struct osv_member members[] = {{w->waiter_owner, 8, &thread}, {w->waiter_bytes, 8, &bytes}};
	int err;

	if (m->nr_waiters == OSV_WAITERS_MAX) {
		m->more_waiters++;
		return 0;
	}
	err = osv_guest_members(&w->g, node, members, 2);
	if (!err)
		err = osv_guest_read(&w->g, thread + w->thread_id, &id, sizeof(id));
	if (err)
		return osv_guest_lose(&w->g, "waiter", node, err);
	m->waiter[m->nr_waiters].thread = thread;
	m->waiter[m->nr_waiters].id = id;
	m->waiter[m->nr_waiters++].bytes = bytes;
	return 0;
}

static int memory_walk(void *walk)
{
	struct memory_walk *w = walk;
	uint64_t root;
	int err = osv_guest_u64(&w->g, w->physical, &w->ret->physical);

	if (!err)
		err = osv_guest_u64(&w->g, w->total, &w->ret->total);
	if (!err)
		err = osv_guest_u64(&w->g, w->free, &w->ret->free);
	if (!err)
		err = osv_guest_u64(&w->g, w->at.list + w->at.root, &root);
	if (!err)
		err = osv_tree_walk(&w->g, "list of mappings", root, OSV_BOOST_LEFT, mapping_count,
				    w);
	if (!err && w->reclaimer)
		err = osv_list_walk(&w->g, "list of threads that wait for memory",
				    w->reclaimer + w->waiters, waiter_add, w);
	return err;
}

int osv_memory(const struct osv_guest_options *opt, struct osv_memory *ret,
	       struct osv_pause *ret_pause)
{
	struct memory_walk w = {.ret = ret};
	int err;

	*ret = (struct osv_memory){0};
	err = osv_guest_visit(opt, &w.g, memory_find, memory_walk, &w, ret_pause);
	osv_guest_close(&w.g);
	return err;
}

/* ---- page tables ---- */

enum { PRESENT = 1, WRITABLE = 2, LARGE = 0x80, LARGE_LEVEL_MAX = 3 };
#define NO_EXECUTE (UINT64_C(1) << 63)

struct translate_walk {
	struct osv_guest g;
	uint64_t root;
	struct osv_translation *ret;
};

static int root_symbol_find(void *walk)
{
	struct translate_walk *w = walk;

	return layout_symbol(w->g.layout, "_ZN3mmuL15page_table_rootE", &w->root);
}

/* Level n maps 12 + 9 * (n - 1) bits. */
static int translate_walk(void *walk)
{
	struct translate_walk *w = walk;
	struct osv_translation *t = w->ret;
	uint64_t table;
	int err = osv_guest_u64(&w->g, w->root, &table);

	t->writable = t->executable = true;
	for (unsigned int level = OSV_PAGE_LEVELS; level && !err; level--) {
		unsigned int shift = 12 + 9 * (level - 1);
		uint64_t at = (table & PAGE_ADDRESS) + (t->address >> shift & 511) * 8, entry;

		err = osv_guest_physical(&w->g, at, &entry, sizeof(entry));
		if (err)
			break;
		t->level[t->nr_levels].level = level;
		t->level[t->nr_levels].at = at;
		t->level[t->nr_levels++].entry = entry;
		if (!(entry & PRESENT))
			break;
		t->writable = t->writable && entry & WRITABLE;
		t->executable = t->executable && !(entry & NO_EXECUTE);
		table = entry;
		if (level > 1 && (level > LARGE_LEVEL_MAX || !(entry & LARGE)))
			continue;
		t->mapped = true;
		t->page_bytes = UINT64_C(1) << shift;
		t->physical = (entry & PAGE_ADDRESS & ~(t->page_bytes - 1)) |
			      (t->address & (t->page_bytes - 1));
		break;
	}
	return err;
}

int osv_translate(const struct osv_guest_options *opt, uint64_t address,
		  struct osv_translation *ret, struct osv_pause *ret_pause)
{
	struct translate_walk w = {.ret = ret};
	int err;

	*ret = (struct osv_translation){.address = address};
	err = osv_guest_visit(opt, &w.g, root_symbol_find, translate_walk, &w, ret_pause);
	osv_guest_close(&w.g);
	return err;
}
