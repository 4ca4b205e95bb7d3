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
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long s64;

extern "C" {
extern char stack_begin[], stack_end[];
extern void (*init_begin[])(), (*init_end[])(); /* constructors */
void guest_main(const u64 *start_info);
void *memcpy(void *to, const void *from, u64 len);
void *memset(void *to, int c, u64 len);
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

/* ---- what of the C++ library shows in the layouts ---- */

namespace std {
template <class T> struct vector {
	T *_M_start, *_M_finish, *_M_end_of_storage;
};
template <class T> struct unique_ptr {
	T *_M_ptr;
};
template <class T> struct deleted_ptr { /* with a function as its deleter: that comes first */
	void (*deleter)(T *);
	T *_M_ptr;
};
template <class T> struct atomic {
	T _M_i;
};
template <class T, int N> struct array {
	T _M_elems[N];
};
template <class T> struct map_node {
	map_node *_M_nxt;
	u32 first;
	T second;
};
template <class T> struct unordered_map {
	void *_M_buckets;
	u64 _M_bucket_count;
	map_node<T> *_M_before_begin;
	u64 _M_element_count;
	float _M_max_load_factor;
	u64 _M_next_resize;
	void *_M_single_bucket;
};
} // namespace std

/* ---- scheduler ---- */

namespace sched {
struct cpu {
	u32 id;
	u64 arch[4];
	void *bringup_thread;
	char *percpu_base;
	u32 idle;
};

class thread {
public:
	enum class status { invalid, prestarted, unstarted, waiting, sending_lock, running, queued, waking, terminating, terminated };
	struct stack_info {
		void *begin;
		u64 size;
		void (*deleter)(stack_info);
	};
	struct attr {
		stack_info _stack;
		cpu *_pinned_cpu;
		bool _detached;
		std::array<char, 16> _name;
	};
	struct detached_state {
		thread *t;
		cpu *_cpu;
		bool lock_sent;
		std::atomic<status> st;
	};
	struct thread_state {
		void *rsp, *rbp, *rip;
	};
	struct thread_runtime {
		u64 token;
		float _Rtt;
	};
	virtual void nothing();
	void (*_func)();
	thread_state _state;
	thread_runtime _runtime;
	attr _attr;
	u64 _migration_lock;
	std::unique_ptr<detached_state> _detached_state;
	u32 _id;
	s64 _total_cpu_time;
};
void thread::nothing() {}

std::vector<cpu *> cpus;
std::unordered_map<thread *> thread_map;
} // namespace sched

/* ---- tracepoints ---- */

struct tracepoint_base {
	u64 id;
	const void *type;
	const char *name, *format, *sig;
	u64 probes[5];
	bool enabled;
};

struct trace_buf {
	std::deleted_ptr<char> _base;
	u64 _last, _size;
};

template <class T> struct percpu {
	T _var;
};
__attribute__((section(".percpu"), used)) percpu<trace_buf> percpu_trace_buffer;

/* Places for a compiler that would leave what nobody uses out of the DWARF. */
static tracepoint_base tick = {1, nullptr, "tick", "n=%d", "Q", {}, true};
static tracepoint_base vfs_open = {2, nullptr, "vfs_open", "\"%s\" 0x%x", "pi", {}, true};
static tracepoint_base vfs_open_ret = {3, nullptr, "vfs_open_ret", "%d", "i", {}, true};
static tracepoint_base odd = {4, nullptr, "odd\033[31m", "%d", "i", {}, true};

enum { PAGE = 4096, PAGES = 4, CPUS = 4 };

static sched::cpu the_cpus[CPUS];
static sched::cpu *cpu_list[CPUS];
static u64 percpu_areas[CPUS][8];
alignas(4096) static u8 rings[CPUS][PAGES * PAGE];

static trace_buf *buf_of(int cpu)
{
	return (trace_buf *)percpu_areas[cpu];
}

/* OSv's rule: a record that would pass a page's end goes to the next page, behind a closing 0. */
static u8 *record_begin(int cpu, u64 len)
{
	trace_buf *b = buf_of(cpu);
	u64 room = PAGE - b->_last % PAGE;

	if (room < len) {
		*(u64 *)(b->_base._M_ptr + b->_last % b->_size) = 0;
		b->_last += room;
	}
	u8 *p = (u8 *)b->_base._M_ptr + b->_last % b->_size;

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

enum : u64 { MODULE_BASE = 0x100000000000 };

namespace elf {
struct string {
	const char *_M_p;
	u64 _M_length;
	char _M_local[16];
};
class object {
public:
	virtual void unload();
	u64 prog;
	string _pathname;
	void *_base, *_end;
};
void object::unload() {}
class program {
public:
	static object *s_objs[100];
};
object *program::s_objs[100];
static object objects[2];
} // namespace elf

static void modules_make()
{
	elf::objects[0]._pathname = {"/usr/lib/libtest.so", 19, ""};
	elf::objects[0]._base = (void *)MODULE_BASE;
	elf::objects[1]._pathname = {"/not/here.so", 12, ""};
	elf::objects[1]._base = (void *)(2 * MODULE_BASE);
	elf::program::s_objs[0] = &elf::objects[0];
	elf::program::s_objs[1] = &elf::objects[1];
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

/* ---- threads ---- */

static sched::thread::detached_state states[3];
static sched::thread threads[3];
static std::map_node<sched::thread *> nodes[3];
static u64 waiting_stack[64];

static void name_put(char *to, const char *name)
{
	for (int i = 0; i < 16 && *name; i++)
		to[i] = *name++;
}

static void thread_make(int i, const char *name, int cpu, sched::thread::status st)
{
	sched::thread *t = &threads[i];

	t->_id = 10 + i;
	t->_total_cpu_time = 1000000 * (i + 1);
	name_put(t->_attr._name._M_elems, name);
	t->_detached_state._M_ptr = &states[i];
	states[i] = {t, cpu < 0 ? nullptr : &the_cpus[cpu], false, {st}};
	nodes[i] = {i < 2 ? &nodes[i + 1] : nullptr, t->_id, t};
}

static void threads_make()
{
	thread_make(0, "init", 0, sched::thread::status::running);
	thread_make(1, "a thread's name!", 1, sched::thread::status::waiting);
	thread_make(2, "new", -1, sched::thread::status::unstarted);
	threads[0]._attr._stack = {stack_begin, 16384, nullptr};
	/* The one that waits: two frames, as it left the CPU. */
	threads[1]._attr._stack = {waiting_stack, sizeof(waiting_stack), nullptr};
	waiting_stack[60] = 0;
	waiting_stack[61] = (u64)vfs_read_file + 5;
	threads[1]._state = {&waiting_stack[50], &waiting_stack[60], (void *)((u64)worker_loop + 5)};
	sched::thread_map._M_before_begin = nodes;
	sched::thread_map._M_element_count = 3;
}

static void rings_make()
{
	for (int i = 0; i < CPUS; i++) {
		the_cpus[i].id = i;
		the_cpus[i].percpu_base = (char *)percpu_areas[i] - (u64)&percpu_trace_buffer;
		cpu_list[i] = &the_cpus[i];
		if (i != 2)
			*buf_of(i) = {{nullptr, (char *)rings[i]}, 0, sizeof(rings[i])};
	}
	sched::cpus = {cpu_list, cpu_list + CPUS, cpu_list + CPUS};
	for (u64 n = 1; n <= 500; n++)
		memcpy(head_put(record_begin(0, 56), &tick, &threads[0], 1000 * n, 0, false), &n, 8);
	for (u64 n = 1; n <= 100; n++) {
		u64 at = 10000 * n + 5;
		u8 *p = head_put(record_begin(1, 48 + 80 + 56), &vfs_open, &threads[1], at, 1, true);
		u32 flags = 0x241;

		backtrace_put(p);
		memset(p + 80, 0xee, 50); /* what stands behind a text is stale */
		memcpy(p + 80, "\x09/etc/host", 10);
		memcpy(p + 80 + 52, &flags, 4);
		p = head_put(record_begin(1, 52), &vfs_open_ret, &threads[1], at + 2000, 1, false);
		memcpy(p, &n, 4);
	}
	for (u64 n = 1; n <= 8; n++) {
		u8 *p = record_begin(3, 52);

		memcpy(head_put(p, n == 5 ? &odd : &vfs_open_ret, &threads[2], 77 * n, 3, false), &n, 4);
		if (n == 8)
			memset(p, 0xff, 8);
	}
}

/* ---- virtio ---- */

namespace hw {
class hw_driver {
public:
	virtual void dump_config();
	u64 name;
};
void hw_driver::dump_config() {}

struct driver_manager {
	u64 lock;
	std::vector<hw_driver *> _drivers;
	static driver_manager *_instance;
};
driver_manager *driver_manager::_instance;

class console : public hw_driver {
public:
	void dump_config() override;
};
void console::dump_config() {}
} // namespace hw

namespace virtio {
struct vring_avail {
	std::atomic<u16> _flags, _idx;
	u16 _ring[8];
	u16 used_event;
};
struct vring_used {
	std::atomic<u16> _flags, _idx;
	u64 _used_elements[8];
	u16 avail_event;
};
struct vring {
	void *_driver;
	u16 _num, _q_index;
	vring_avail *_avail;
	vring_used *_used;
	std::atomic<u16> *_avail_event, *_used_event;
	u16 _avail_count, _used_ring_host_head, _used_ring_guest_head, _avail_added_since_kick;
};
class virtio_driver : public hw::hw_driver {
public:
	u64 _dev;
	u32 _num_queues;
	vring *_queues[8];
};
class net : public virtio_driver {
public:
	void dump_config() override;
	u64 _mac;
};
void net::dump_config() {}
class blk : public virtio_driver {
public:
	void dump_config() override;
};
void blk::dump_config() {}

static net the_net;
static blk the_blk;
static vring queues[3];
static vring_avail avails[3];
static vring_used useds[3];
} // namespace virtio

static hw::console the_console;
static hw::hw_driver *drivers[3];
static hw::driver_manager the_manager;

static void queue_make(int i, u16 nr, u16 avail, u16 avail_event, u16 used, u16 used_event, u16 flags)
{
	virtio::vring *q = &virtio::queues[i];

	virtio::avails[i]._idx._M_i = avail;
	virtio::avails[i].used_event = used_event;
	virtio::useds[i]._idx._M_i = used;
	virtio::useds[i]._flags._M_i = flags;
	virtio::useds[i].avail_event = avail_event;
	*q = {nullptr, 256, nr, &virtio::avails[i], &virtio::useds[i],
	      (std::atomic<u16> *)&virtio::useds[i].avail_event, (std::atomic<u16> *)&virtio::avails[i].used_event,
	      (u16)(256 - (u16)(avail - used)), (u16)(used - 3), (u16)(used - 5), 0};
}

static void virtio_make()
{
	queue_make(0, 0, 0x0100, 0x0000, 0x0003, 0x0003, 0);
	queue_make(1, 1, 0xc951, 0xc900, 0xc951, 0xc8fd, 1);
	queue_make(2, 0, 0x0002, 0x0001, 0xffff, 0xfffe, 0);
	virtio::the_net._num_queues = 2;
	virtio::the_net._queues[0] = &virtio::queues[0];
	virtio::the_net._queues[1] = &virtio::queues[1];
	virtio::the_blk._num_queues = 1;
	virtio::the_blk._queues[0] = &virtio::queues[2];
	drivers[0] = &virtio::the_net;
	drivers[1] = &the_console;
	drivers[2] = &virtio::the_blk;
	the_manager._drivers = {drivers, drivers + 3, drivers + 3};
	hw::driver_manager::_instance = &the_manager;
}

/* ---- allocations ---- */

namespace memory {
struct alloc_tracker {
	struct alloc_info {
		u32 seq, size;
		void *addr;
		int nbacktrace;
		void *backtrace[20];
		int next;
	};
	alloc_info *allocations;
	u64 size_allocations;
	int first_free;
	u64 current_seq;
};
alloc_tracker tracker;
bool tracker_enabled;
} // namespace memory

static memory::alloc_tracker::alloc_info allocations[16];

static void allocation_make(int i, u32 seq, u32 size, u64 inner, u64 outer)
{
	allocations[i] = {seq, size, (void *)(0x1000ul * (i + 1)), 2, {}, -1};
	allocations[i].backtrace[0] = (void *)outer;
	allocations[i].backtrace[1] = (void *)inner;
}

static void leaks_make()
{
	u64 a = (u64)worker_loop + 5, b = (u64)vfs_read_file + 5;

	allocation_make(0, 5, 64, a, b);
	allocation_make(2, 9, 64, a, b);
	allocation_make(3, 12, 200, a, b);
	allocation_make(4, 77, 1000, b, b);
	allocation_make(9, 80, 16, b, a);
	memory::tracker = {allocations, 16, -1, 101};
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
	trace_buf *b = buf_of(0);

	*b = {{nullptr, (char *)0x400000}, (96ul << 20) - 65536, 32ul << 20};
	for (volatile u64 n = 1;; n = n + 1) {
		volatile u64 *p = (volatile u64 *)record_begin(0, 56);
		u64 record[7];

		*p = ~0ul;
		head_put((u8 *)record, &tick, &threads[0], 1000 * n, 0, false);
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
	trace_buf *b = buf_of(2);

	if (option == 'b') /* big: takes long to read */
		*b = {{nullptr, (char *)0x400000}, ~0ul, 32ul << 20};
	if (option == 'n') /* no memory there */
		*b = {{nullptr, (char *)0x123456789000}, ~0ul, 1ul << 20};
	if (option == 'h') /* huge */
		*b = {{nullptr, (char *)rings[2]}, 5, 1ul << 62};
	if (option == 'v') /* a vector of too many */
		sched::cpus._M_finish = cpu_list + (1ul << 40);
	if (option == 't') { /* threads, queues and allocations without end */
		nodes[2]._M_nxt = nodes;
		virtio::the_net._num_queues = 0xffffffff;
		memory::tracker.size_allocations = 1ul << 50;
	}
}

void guest_main(const u64 *start_info)
{
	for (void (**f)() = init_begin; f < init_end; f++)
		(*f)();
	threads_make();
	rings_make();
	virtio_make();
	leaks_make();
	modules_make();
	lie(option_of(start_info));
	vfs_read_file();
	say("ready\n");
	if (option_of(start_info) == 'w')
		write_for_ever();
	asm volatile("cli; hlt");
}
