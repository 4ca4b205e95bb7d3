// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Not OSv, but what hostrace looks for in one: the same names and layouts (doc/osv-guest.md lists them), with known
 * contents. It fills its rings, says "ready" on COM1 and halts; the rest is done to it from outside.
 *
 *   vCPU 0   a ring of 4 pages that wrapped: ticks 1 to 500, one each microsecond
 *   vCPU 1   100 calls of vfs_open with a backtrace, at 10 us distance, each with its vfs_open_ret 2 us later
 *   vCPU 2   no buffer yet
 *   vCPU 3   stopped while it wrote: 7 records before that
 */
#include "osv.h"

extern "C" {
extern char _percpu_start[], _percpu_end[];
extern void (*init_begin[])(), (*init_end[])(); /* constructors */
void guest_main(const u64 *start_info);
}

void *memcpy(void *to, const void *from, u64 len)
{
	for (u64 i = 0; i < len; i++)
		((volatile u8 *)to)[i] = ((const u8 *)from)[i];
	return to;
}

void *memset(void *to, int c, u64 len)
{
	for (u64 i = 0; i < len; i++)
		((volatile u8 *)to)[i] = (u8)c;
	return to;
}

/* ---- tracepoints ---- */

static tracepoint_base tick = {1, nullptr, "tick", "n=%d", "Q", {}, false, true, true, {}};
static tracepoint_base vfs_open = {2, nullptr, "vfs_open", "\"%s\" 0x%x", "pi", {}, false, true, true, {}};
static tracepoint_base vfs_open_ret = {3, nullptr, "vfs_open_ret", "%d", "i", {}, false, true, true, {}};
static tracepoint_base odd = {4, nullptr, "odd\033[31m", "%d", "i", {}, false, true, true, {}};

sched::cpu cpus_storage[CPUS];
static sched::cpu *cpu_list[CPUS];
static u64 percpu_areas[CPUS][16];

/* A vCPU's copy of the section .percpu. */
static trace_buf *buf_of(int cpu)
{
	return (trace_buf *)((char *)heap(percpu_areas[cpu]) + ((char *)&percpu_trace_buffer - _percpu_start));
}

static void buf_set(int cpu, char *mem, u64 last, u64 size)
{
	trace_buf *b = buf_of(cpu);

	((std::_Head_base<0, char *> *)&b->_base._M_t._M_t)->_M_head_impl = mem;
	b->_last = last;
	b->_size = size;
}

static char *buf_mem(int cpu)
{
	return ((std::_Head_base<0, char *> *)&buf_of(cpu)->_base._M_t._M_t)->_M_head_impl;
}

/* OSv's rule: a record that would pass a page's end goes to the next page, behind a closing 0. */
static u8 *record_begin(int cpu, u64 len)
{
	trace_buf *b = buf_of(cpu);
	u64 room = PAGE - b->_last % PAGE;

	if (room < len) {
		*(u64 *)(buf_mem(cpu) + b->_last % b->_size) = 0;
		b->_last += room;
	}
	u8 *p = (u8 *)buf_mem(cpu) + b->_last % b->_size;

	b->_last += (len + 7) & ~7ul;
	return p;
}

static u8 *head_put(u8 *p, tracepoint_base *tp, sched::thread *t, u64 time, int cpu, bool backtrace)
{
	memcpy(p, &tp, 8);
	memcpy(p + 8, &t, 8);
	memcpy(p + 16, &t->_attr._name, 16);
	memcpy(p + 32, &time, 8);
	*(u32 *)(p + 40) = (u32)cpu;
	*(u32 *)(p + 44) = 0xfe | backtrace; /* the other bits are stale in a real guest */
	return p + 48;
}

/* ---- modules: libtest.so, its text at 0x1000 of where it was loaded ---- */

static elf::file modules[4];
static elf::object *module_list[16];
static const char long_path[] = "/usr/lib/libtest.so";

static void module_make(int i, const char *path, u64 base)
{
	elf::file *f = heap(&modules[i], MEMPOOL_AREA);
	u64 len = 0;

	while (path[len])
		len++;
	f->_pathname._M_string_length = len;
	if (len < sizeof(f->_pathname._M_local_buf)) {
		memcpy(f->_pathname._M_local_buf, path, len + 1);
		f->_pathname._M_dataplus._M_p = f->_pathname._M_local_buf;
	} else {
		f->_pathname._M_dataplus._M_p = heap(path);
	}
	f->_base = (void *)base;
	f->_end = (void *)(base + 0x2000);
	f->_module_index = 2 + i;
	module_list[i] = f;
}

/* After the vector's end, and after its capacity, is what was there before. */
static void modules_make(char option)
{
	for (elf::object *&o : module_list)
		o = (elf::object *)0xdeadbeefdeadbeef;
	module_make(0, long_path, MODULE_BASE);
	module_make(1, "/not/here.so", 2 * MODULE_BASE);
	if (option == 'z')
		module_make(2, "/usr/lib/libsolaris.so", SOLARIS_BASE);
	elf::program::s_objs.set(heap(module_list), option == 'z' ? 3 : 2, 16);
}

/* ---- code with a backtrace, innermost first ---- */

__attribute__((noinline)) static void worker_step()
{
	asm volatile("nop");
}

__attribute__((noinline)) void worker_loop()
{
	worker_step();
	asm volatile("nop");
}

__attribute__((noinline)) void vfs_read_file()
{
	worker_loop();
	asm volatile("nop");
}

static void backtrace_put(u8 *p)
{
	u64 frame[10] = {(u64)worker_loop + 5, (u64)vfs_read_file + 5, MODULE_BASE + 0x1008, 2 * MODULE_BASE + 0x1008,
			 0, 0, 0, 0, 0, 0};

	memcpy(p, frame, sizeof(frame));
}

static void rings_make()
{
	for (int i = 0; i < CPUS; i++) {
		sched::cpu *c = heap(&cpus_storage[i]);

		c->id = i;
		c->arch.apic_id = c->arch.acpi_id = 2 * i;
		c->percpu_base = (char *)heap(percpu_areas[i]) - (u64)_percpu_start;
		cpu_list[i] = c;
		if (i != 2)
			buf_set(i, ring_address(i), 0, RING_PAGES * PAGE);
	}
	sched::cpus.set(heap(cpu_list), CPUS, CPUS);
	for (u64 n = 1; n <= 500; n++)
		memcpy(head_put(record_begin(0, 56), &tick, thread_of(0), 1000 * n, 0, false), &n, 8);
	for (u64 n = 1; n <= 100; n++) {
		u64 at = 10000 * n + 5;
		u8 *p = head_put(record_begin(1, 48 + 80 + 56), &vfs_open, thread_of(1), at, 1, true);
		u32 flags = 0x241;

		backtrace_put(p);
		memset(p + 80, 0xee, 50); /* what follows a text is stale */
		memcpy(p + 80, "\x09/etc/host", 10);
		memcpy(p + 80 + 52, &flags, 4);
		p = head_put(record_begin(1, 52), &vfs_open_ret, thread_of(1), at + 2000, 1, false);
		memcpy(p, &n, 4);
	}
	for (u64 n = 1; n <= 8; n++) {
		u8 *p = record_begin(3, 52);

		memcpy(head_put(p, n == 5 ? &odd : &vfs_open_ret, thread_of(2), 77 * n, 3, false), &n, 4);
		if (n == 8)
			memset(p, 0xff, 8);
	}
}

/* ---- virtio ---- */

static virtio::net the_net;
static virtio::blk the_blk;
static virtio::vring queues[3];
static virtio::vring_avail avails[3];
static virtio::vring_used useds[3];
static hw::console the_console;
static hw::hw_driver *drivers[3];
static hw::driver_manager the_manager;

static void queue_make(int i, u16 nr, u16 avail, u16 avail_event, u16 used, u16 used_event, u16 flags)
{
	virtio::vring *q = heap(&queues[i]);

	q->_avail = heap(&avails[i]);
	q->_used = heap(&useds[i]);
	q->_avail->_idx._M_i = avail;
	q->_avail->used_event._M_i = used_event;
	q->_used->_idx._M_i = used;
	q->_used->_flags._M_i = flags;
	q->_used->avail_event._M_i = avail_event;
	q->_avail_event = &q->_used->avail_event;
	q->_used_event = &q->_avail->used_event;
	q->_q_index = nr;
	q->_num = 256;
	q->_avail_count = (u16)(256 - (u16)(avail - used));
	q->_used_ring_host_head = (u16)(used - 3);
	q->_used_ring_guest_head = (u16)(used - 5);
}

static void virtio_make()
{
	queue_make(0, 0, 0x0100, 0x0000, 0x0003, 0x0003, 0);
	queue_make(1, 1, 0xc951, 0xc900, 0xc951, 0xc8fd, 1);
	queue_make(2, 0, 0x0002, 0x0001, 0xffff, 0xfffe, 0);
	the_net._num_queues = 2;
	the_net._queues[0] = heap(&queues[0]);
	the_net._queues[1] = heap(&queues[1]);
	the_blk._num_queues = 1;
	the_blk._queues[0] = heap(&queues[2]);
	drivers[0] = heap(&the_net);
	drivers[1] = heap(&the_console);
	drivers[2] = heap(&the_blk);
	the_manager._drivers.set(heap(drivers), 3, 3);
	hw::driver_manager::_instance = heap(&the_manager);
}

/* ---- allocations ---- */

static memory::alloc_tracker::alloc_info allocations[16];

static void allocation_make(int i, u32 seq, u32 size, u64 inner, u64 outer)
{
	allocations[i] = {seq, size, (void *)(0x1000ul * (i + 1)), 2, {(void *)inner, (void *)outer}, -1};
}

/* Of those with equal bytes, the one with the lower outermost address comes first; its innermost one is the higher. */
static void leaks_make()
{
	u64 a = (u64)worker_loop + 5, b = (u64)vfs_read_file + 5;

	allocation_make(0, 5, 64, a, b);
	allocation_make(2, 9, 64, a, b);
	allocation_make(3, 12, 200, a, b);
	allocation_make(4, 77, 1000, b, b);
	allocation_make(9, 80, 328, b, a);
	memory::tracker.allocations = heap(allocations);
	memory::tracker.size_allocations = 16;
	memory::tracker.first_free = -1;
	memory::tracker.current_seq = 101;
	memory::tracker_enabled = true;
}

/* ---- */

static void say(const char *text)
{
	for (; *text; text++)
		asm volatile("outb %0, %1" : : "a"(*text), "Nd"((u16)0x3f8));
}

/* Where the command line stands: Xen's public/arch-x86/hvm/start_info.h, offset 24. */
static char option_of(const u64 *start_info)
{
	const char *line = (const char *)start_info[3];

	return line ? *line : 0;
}

/* Ticks without end into a ring of 32 MiB that soon wraps; each record in the order in which OSv writes it. */
static void write_for_ever()
{
	buf_set(0, (char *)MAIN_AREA + 0x400000 + 56, (96ul << 20) - 65536, 32ul << 20);
	say("ready\n");
	for (volatile u64 n = 1;; n = n + 1) {
		volatile u64 *p = (volatile u64 *)record_begin(0, 56);
		u64 record[7];

		*p = ~0ul;
		head_put((u8 *)record, &tick, thread_of(0), 1000 * n, 0, false);
		record[6] = n;
		for (int i = 1; i < 7; i++)
			p[i] = record[i];
		*p = record[0];
		for (volatile int i = 0; i < 3000; i = i + 1)
			;
	}
}

/* Options: what a guest may do to whoever reads it. */
static void lie(char option)
{
	if (option == 'b') /* big: takes long to read */
		buf_set(2, (char *)MAIN_AREA + 0x400000, ~0ul, 32ul << 20);
	if (option == 'n') /* no memory there */
		buf_set(2, (char *)0x123456789000, ~0ul, 1ul << 20);
	if (option == 'h') /* huge */
		buf_set(2, ring_address(2), 5, 1ul << 62);
	if (option == 'v') /* a vector of too many */
		sched::cpus._M_impl._M_finish = cpu_list + (1ul << 40);
	for (int i = 0; option == 'o' && i < CPUS; i++) /* tracing was never on */
		buf_set(i, nullptr, 0, 0);
	if (option == 'm') { /* modules that cannot be read: the object, the path, the list's end */
		module_make(2, "/no/path.so", 3 * MODULE_BASE);
		modules[2]._pathname._M_dataplus._M_p = (const char *)0x123456789000;
		module_list[3] = (elf::object *)0x123456780000;
		elf::program::s_objs.set(heap(module_list), 4, 16);
	}
	if (option == 'M') /* more modules than the list can have */
		elf::program::s_objs._M_impl._M_finish += 1ul << 40;
	if (option == 'u') { /* objects that cannot be read, among others that can */
		threads_spoil();
		drivers[1] = (hw::hw_driver *)NOWHERE;
		the_net._queues[1] = (virtio::vring *)NOWHERE;
		cpu_list[1] = (sched::cpu *)NOWHERE;
		heap(&cpus_storage[3])->percpu_base = (char *)NOWHERE;
		memcpy(module_page(), allocations, sizeof(allocations));
		memory::tracker.allocations = (memory::alloc_tracker::alloc_info *)MODULE_BASE;
		memory::tracker.size_allocations = 4000000;
	}
	if (option == 'U') { /* a list that breaks off; an object that is no driver */
		threads_break_off();
		*(u64 *)heap(&the_net) = NOWHERE;
	}
	if (option == 't') { /* threads, queues and allocations without end */
		threads_close_circle();
		the_net._num_queues = 0xffffffff;
		memory::tracker.size_allocations = 1ul << 50;
	}
}

static void serve()
{
	vfs_read_file();
	say("ready\n");
}

/* As OSv's, which halts the vCPU. */
__attribute__((noinline)) void abort(const char *format, ...)
{
	say(format);
	asm volatile("cli; hlt");
}

__attribute__((noinline)) static void assert_fail()
{
	abort("ready\n");
	asm volatile("nop");
}

static void interrupt()
{
	say("ready\n");
	asm volatile("cli; hlt");
}

void guest_main(const u64 *start_info)
{
	char option = option_of(start_info);

	for (void (**f)() = init_begin; f < init_end; f++)
		(*f)();
	memory_map();
	threads_make();
	rings_make();
	virtio_make();
	leaks_make();
	modules_make(option);
	state_make(option);
	lie(option);
	thread_run(option == 'w' ? write_for_ever : option == 'a' ? assert_fail : serve, option == 'i' ? interrupt : nullptr);
}
