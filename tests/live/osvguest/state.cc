// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What `hostrace guest runqueue`, callouts, memory, heap, mmap, percpu, zfs and dmesg show. By option:
 *
 *   z   libsolaris.so is loaded, with statistics of ZFS
 *   l   the log has wrapped
 *   d   damaged: trees and lists that lead nowhere or return
 */
#include "osv.h"

using sched::thread;

/* A node between two others, which may be null. */
template <class Node> static Node *tree_node(Node *node, Node *left, Node *right)
{
	node->left_ = left;
	node->right_ = right;
	return node;
}

/* ---- run queue of vCPU 0: three threads, the last one with an infinite runtime ---- */

static rb_node *link_of(int nr)
{
	return &thread_of(nr)->_runqueue_link;
}

static void runqueue_make()
{
	sched::cpu *c = heap(&cpus_storage[0]);

	c->runqueue.holder.root.parent_ = tree_node(link_of(11), tree_node<rb_node>(link_of(10), nullptr, nullptr),
						    tree_node<rb_node>(link_of(2), nullptr, nullptr));
	c->runqueue.holder.size_ = 3;
}

/* ---- callouts ---- */

static callout first_callout, second_callout;
static std::set_node<callout *> callout_nodes[3];
static callout unnamed[2];

static void timer_handler(void *)
{
	asm volatile("nop");
}

static void callout_make(int node, callout *c, int flags, s64 time)
{
	c->c_flags = flags;
	c->c_to_ns = time;
	c->c_fn = timer_handler;
	c->c_arg = (void *)0x1234;
	callout_nodes[node].value = c;
}

static void callouts_make()
{
	std::set_node<callout *> *n = callout_nodes;

	callout_make(0, &first_callout, 6, 27638174650);
	callout_make(1, &second_callout, 0x22, 28000000000);
	callout_make(2, heap(&unnamed[1]), 0, 29000000000);
	callouts::_callouts.header.parent_ = tree_node(heap(&n[1]), heap(&n[0]), heap(&n[2]));
	callouts::_callouts.count = 3;
}

/* ---- memory ---- */

namespace memory {
page_range_allocator free_page_ranges;
u64 phys_mem_size = 536333312;
__attribute__((used)) static std::atomic<u64> free_memory, total_memory;
reclaimer reclaimer_thread;
} // namespace memory

alignas(PAGE) static u8 free_pages[4][PAGE];
static memory::reclaimer_waiters::wait_node waiter;

static memory::page_range *range_make(int i, u64 bytes)
{
	memory::page_range *r = (memory::page_range *)heap(free_pages[i]);

	r->size = bytes;
	memory::free_memory._M_i += bytes;
	return r;
}

static void range_list(list_node *header, memory::page_range *a, memory::page_range *b)
{
	header->next_ = &a->list_hook;
	a->list_hook.next_ = b ? &b->list_hook : header;
	if (b)
		b->list_hook.next_ = header;
}

static void memory_make()
{
	memory::page_range_allocator *m = &memory::free_page_ranges;

	for (list_node &header : m->_free)
		header.next_ = header.prev_ = &header;
	range_list(&m->_free[0], range_make(0, PAGE), range_make(1, PAGE));
	range_list(&m->_free[3], range_make(2, 12 * PAGE), nullptr);
	m->_free_huge.holder.root.parent_ = tree_node<rb_node>(&range_make(3, 0x1e5be000)->set_hook, nullptr, nullptr);
	memory::total_memory._M_i = 60000000;
	list_make(&memory::reclaimer_thread._oom_blocked._waiters);
	waiter.owner = thread_of(1);
	waiter.bytes = 4096;
	list_append(&memory::reclaimer_thread._oom_blocked._waiters, &waiter.hook);
}

/* ---- mappings: an empty one at each end, one of a file, one that is anonymous, one with all flags ---- */

static mmu::file_vma vmas[5];
static file the_file;
static dentry the_dentry;

static void vma_make(int i, u64 start, u64 end, u32 perm, u32 flags)
{
	mmu::file_vma *v = &vmas[i];

	v->_range._start = start;
	v->_range._end = end;
	v->_perm = perm;
	v->_flags = flags;
	v->_file.px = heap(&the_file);
	v->_offset = 0x3f000;
}

static rb_node *vma_hook(int i)
{
	return &heap(&vmas[i])->_vma_list_hook;
}

static void mappings_make()
{
	the_dentry.d_path = heap("/usr/lib/libhttpserver-api.so");
	the_file.f_dentry.px = heap(&the_dentry);
	vma_make(0, 0, 0, 0, 0);
	vma_make(1, 0x10000003f000, 0x100000095000, 5, 0xa1);
	vma_make(2, 0x200000000000, 0x200000001000, 0, 2);
	vma_make(3, 0x200000400000, 0x200000600000, 7, 0x7f);
	vma_make(4, MAIN_AREA, MAIN_AREA, 0, 0);
	mmu::vma_list.holder.root.parent_ =
		tree_node(vma_hook(2), tree_node<rb_node>(vma_hook(1), vma_hook(0), nullptr),
			  tree_node<rb_node>(vma_hook(3), nullptr, vma_hook(4)));
	mmu::vma_list.holder.size_ = 5;
}

/* ---- variables of each vCPU ---- */

template <class T> struct dynamic_percpu {
	u64 _offset;
};
struct counters {
	enum class kind { slow, fast };
	u32 calls;
	int delta;
	kind how;
	bool on;
	const char *text;
	char name[8];
	u32 low : 4, high : 4;
	union {
		u16 halves[2];
		u32 whole;
	};
};

namespace stats {
__attribute__((section(".percpu"), used)) percpu<counters> of_cpu;
__attribute__((used)) dynamic_percpu<u32> ticks;
} // namespace stats

extern "C" char _percpu_start[];

static void percpu_make()
{
	for (int i = 0; i < CPUS; i++) {
		u64 base = (u64)heap(&cpus_storage[i])->percpu_base;
		counters *c = (counters *)(base + (u64)&stats::of_cpu);

		*c = {100u + i, -i, i & 1 ? counters::kind::fast : counters::kind::slow, i == 2, nullptr, "abc", 5, 6,
		      {{7, 8}}};
		*(u32 *)(base + (u64)&pcpu) = 40 + i;
	}
	stats::ticks._offset = (u64)&pcpu;
}

/* ---- ZFS ---- */

struct kstat {
	char name[31];
	u8 type;
	u64 value;
};

static void kstat_make(kstat *k, const char *name, u64 value)
{
	k->type = 4;
	k->value = value;
	for (int i = 0; name[i]; i++)
		k->name[i] = name[i];
}

static void zfs_make()
{
	kstat *k = (kstat *)solaris_page();

	kstat_make(&k[0], "arcstat_hits", 1000);
	kstat_make(&k[1], "arcstat_misses", 0x7fffffffffffffff);
	kstat_make(&k[2], "arcstat_c", 7);
}

/* ---- log ---- */

extern "C" {
char debug_buffer[96];
}
__attribute__((used)) static u64 debug_buffer_idx;

static void log_write(const char *text)
{
	for (; *text; text++) {
		debug_buffer[debug_buffer_idx++] = *text;
		debug_buffer_idx %= sizeof(debug_buffer);
	}
}

void state_make(char option)
{
	runqueue_make();
	callouts_make();
	memory_make();
	mappings_make();
	percpu_make();
	zfs_make();
	log_write("OSv v0.57.0\neth0: \033[31m192.168.122.15\n");
	for (int i = 0; option == 'l' && i < 3; i++)
		log_write("a line that is repeated three times\n");
	if (option != 'd')
		return;
	link_of(10)->left_ = link_of(11); /* returns */
	callout_nodes[1].right_ = (std::set_node<callout *> *)NOWHERE;
	((memory::page_range *)heap(free_pages[1]))->list_hook.next_ = (list_node *)NOWHERE;
	vmas[3]._vma_list_hook.right_ = (rb_node *)NOWHERE;
	the_file.f_dentry.px = (dentry *)NOWHERE;
	waiter.owner = (thread *)NOWHERE;
	cpus_storage[1].percpu_base = (char *)NOWHERE;
}
