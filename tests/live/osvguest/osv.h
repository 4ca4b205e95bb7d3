/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names and layouts of OSv's data (x86-64, GCC 12, libstdc++ 12), as measured on a real guest; sched.cc checks the
 * offsets. What hostrace does not read is left out, or is a member skipped_N.
 *
 * A class with virtual functions is complete only in the DWARF of the file that has the first of them: sched.cc. The
 * other files declare it, with the nested types that they use inside the declaration. OSv's own files are like that.
 */
#ifndef OSVGUEST_OSV_H
#define OSVGUEST_OSV_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long s64;

/* ---- libstdc++ ---- */

namespace std {
template <class T> struct allocator {};
template <class T, class A> struct _Vector_base {
	struct _Vector_impl_data {
		T *_M_start, *_M_finish, *_M_end_of_storage;
	};
	struct _Vector_impl : A, _Vector_impl_data {};
	_Vector_impl _M_impl;
};
template <class T, class A = allocator<T>> struct vector : _Vector_base<T, A> {
	void set(T *from, u64 nr, u64 capacity)
	{
		this->_M_impl._M_start = from;
		this->_M_impl._M_finish = from + nr;
		this->_M_impl._M_end_of_storage = from + capacity;
	}
};
template <u64 N, class T> struct _Head_base {
	T _M_head_impl;
};
template <class T, class D> struct deleter_tuple : _Head_base<1, D>, _Head_base<0, T *> {};
template <class T> struct tuple : _Head_base<0, T *> {};
template <class T> struct uniq_ptr_impl {
	T _M_t;
};
template <class T> struct unique_ptr {
	uniq_ptr_impl<tuple<T>> _M_t;
};
template <class T, class D> struct unique_ptr_deleted { /* with a function as its deleter: that comes first */
	uniq_ptr_impl<deleter_tuple<T, D>> _M_t;
};
template <class T> struct __atomic_base {
	T _M_i;
};
template <class T> struct atomic : __atomic_base<T> {};
template <class T, int N> struct array {
	T _M_elems[N];
};
struct string {
	struct {
		const char *_M_p;
	} _M_dataplus;
	u64 _M_string_length;
	union {
		char _M_local_buf[16];
		u64 _M_allocated_capacity;
	};
};
template <class T> struct set_node {
	u32 color;
	set_node *parent_, *left_, *right_;
	T value;
};
template <class T> struct set {
	u64 compare;
	struct {
		u32 color;
		set_node<T> *parent_, *left_, *right_;
	} header;
	u64 count;
};
namespace chrono {
struct duration {
	s64 __r;
};
} // namespace chrono
template <class T> struct hash_node {
	hash_node *_M_nxt;
	u32 first;
	T second;
};
template <class T> struct _Hashtable {
	void *_M_buckets;
	u64 _M_bucket_count;
	struct {
		hash_node<T> *_M_nxt;
	} _M_before_begin;
	u64 _M_element_count;
	float _M_max_load_factor;
	u64 _M_next_resize;
	void *_M_single_bucket;
};
template <class T> struct unordered_map {
	_Hashtable<T> _M_h;
};
} // namespace std

/* ---- Boost's intrusive containers: nodes are hooks in the objects ---- */

struct list_node {
	list_node *next_, *prev_;
};
struct list {
	struct {
		struct {
			u64 size_;
			list_node m_header;
		} root_plus_size_;
	} data_;
	list_node *header() { return &data_.root_plus_size_.m_header; }
};

struct rb_node {
	rb_node *parent_, *left_, *right_; /* of a header: the root, the leftmost, the rightmost */
	u64 color_;
};
struct rb_size {
	u64 size_;
};
struct rb_tree {
	struct : rb_size {
		rb_node root;
	} holder;
};
struct rb_tree_unsized {
	struct {
		rb_node root;
	} holder;
};
template <class T> struct intrusive_ptr {
	T *px;
};

template <class T> struct percpu {
	T _var;
};

/* ---- scheduler ---- */

struct thread_state {
	char *exception_stack;
	void *rsp, *rbp, *rip;
	u64 _syscall_stack_descriptor[2];
};

struct thread_control_block {
	thread_control_block *self;
	void *tls_base;
	u64 app_tcb;
};

namespace sched {
struct client { /* of timers */
	virtual void timer_fired();
	bool _timers_need_reload;
	list _active_timers;
};

struct timer_base {
	enum class state { free, armed, expired };
	list_node hook, client_hook;
	client *_t;
	state _state;
	s64 _time;
};

struct alignas(8) arch_cpu {
	u8 skipped_0[12416];
	u32 apic_id, acpi_id;
	u8 skipped_1[80];
};

struct cpu : client {
	void timer_fired() override;
	u32 id;
	arch_cpu arch;
	rb_tree runqueue;
	u8 skipped_0[1696];
	char *percpu_base;
	float c;
};

class alignas(16) thread : public client {
public:
	enum class status {
		invalid,
		prestarted,
		unstarted,
		waiting,
		sending_lock,
		running,
		queued,
		waking,
		terminating,
		terminated
	};
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
	struct arch_thread {
		alignas(16) char interrupt_stack[4096];
		alignas(16) char exception_stack[16384];
	};
	struct thread_runtime {
		float _priority, _Rtt;
		int _renormalize_count;
	};
	void timer_fired() override;
	static void wait(); /* goes on in the boot's thread */
	void switch_to();

	u32 _detach_state;
	void (*_func[4])();
	thread_state _state;
	thread_control_block *_tcb;
	thread_runtime _runtime;
	u64 _realtime[2];
	std::unique_ptr<detached_state> _detached_state;
	attr _attr;
	int _migration_lock_counter;
	bool _pinned;
	arch_thread _arch;
	u32 _id;
	u8 skipped_0[92];
	rb_node _runqueue_link;
	u8 skipped_3[40];
	std::chrono::duration _total_cpu_time;
	u64 skipped_1;
	u32 _parent_id;
	u64 skipped_2[2];
};

extern std::vector<cpu *> cpus;
extern std::unordered_map<thread *> thread_map;
extern __thread thread *s_current;
extern thread *boot_thread; /* not OSv's */
} // namespace sched

/* ---- tracepoints ---- */

struct tracepoint_base {
	u64 id;
	const void *type;
	const char *name, *format, *sig;
	u64 tp_list_link[2];
	bool _backtrace, _logging, active;
	u64 skipped_0[6];
};

struct trace_buf {
	std::unique_ptr_deleted<char, void (*)(void *)> _base;
	u64 _last, _size;
};
extern percpu<trace_buf> percpu_trace_buffer;
extern percpu<u64[4]> pcpu;

/* ---- modules ---- */

namespace elf {
class program;
class object {
public:
	virtual void unload();
	u64 weak_this[2];
	program *_prog;
	std::string _pathname;
	u8 _ehdr[88];
	void *_base, *_end;
	u8 skipped_0[88];
	void *_dynamic_table;
	u64 _module_index;
	u8 skipped_1[224];
};
class file : public object {
public:
	void unload() override;
	void *_f;
};
class program {
public:
	u8 skipped_0[48];
	static std::vector<object *> s_objs;
};
} // namespace elf

/* ---- virtio ---- */

namespace hw {
class hw_driver {
public:
	virtual void dump_config();
};

class driver_manager {
public:
	u64 skipped_0[4];
	std::vector<hw_driver *> _drivers;
	static driver_manager *_instance;
};

class console : public hw_driver {
public:
	void dump_config() override;
};
} // namespace hw

namespace virtio {
struct vring_avail {
	std::atomic<u16> _flags, _idx;
	u16 _ring[256];
	std::atomic<u16> used_event;
};
struct vring_used {
	std::atomic<u16> _flags, _idx;
	u64 _used_elements[256];
	std::atomic<u16> avail_event;
};
class vring {
public:
	virtual void nothing();
	u64 skipped_0[6];
	u16 _q_index;
	u64 skipped_1;
	u32 _num;
	u16 _avail_head, _used_ring_host_head, _used_ring_guest_head, _avail_added_since_kick;
	u16 _avail_count;
	void *_desc;
	vring_avail *_avail;
	vring_used *_used;
	u64 skipped_2[6];
	std::atomic<u16> *_avail_event, *_used_event;
	u64 skipped_3;
};
class virtio_driver : public hw::hw_driver {
public:
	void dump_config() override;
	u64 _dev;
	vring *_queues[64];
	u32 _num_queues;
	u64 _cap;
};
class net : public virtio_driver {
public:
	void dump_config() override;
	u64 _mac;
};
class blk : public virtio_driver {
public:
	void dump_config() override;
};
} // namespace virtio

/* ---- allocations ---- */

namespace memory {
class alloc_tracker {
public:
	struct alloc_info {
		u32 seq, size;
		void *addr;
		int nbacktrace;
		void *backtrace[20]; /* the innermost first */
		int next;
	};
	int first_free, newest_allocation;
	alloc_info *allocations;
	u64 size_allocations, current_seq;
	u64 _lock[5];
};
struct page_range {
	u64 size;
	rb_node set_hook;
	list_node list_hook;
};
struct page_range_allocator {
	rb_tree_unsized _free_huge;
	list_node _free[16];
	u64 _not_empty;
	u64 _bitmap[4];
	u64 _deferred_free;
};
struct reclaimer_waiters {
	struct wait_node {
		list_node hook;
		sched::thread *owner;
		u64 bytes;
	};
	list _waiters;
};
struct reclaimer {
	u64 skipped_0[4];
	reclaimer_waiters _oom_blocked;
	u64 skipped_1[13];
};
extern page_range_allocator free_page_ranges;
extern reclaimer reclaimer_thread;
extern alloc_tracker tracker;
extern bool tracker_enabled;
} // namespace memory

/* ---- files, callouts ---- */

struct dentry {
	u64 skipped_0[3];
	const char *d_path;
};
struct file {
	u64 skipped_0[3];
	intrusive_ptr<dentry> f_dentry;
};
struct callout {
	u64 skipped_0;
	int c_flags;
	u64 c_ticks, c_time;
	s64 c_to_ns;
	void (*c_fn)(void *);
	void *c_arg;
	u64 skipped_1[2];
};
namespace callouts {
extern std::set<callout *> _callouts;
}

/* ---- address space ---- */

namespace mmu {
struct pt_element_common {
	u64 x;
};
struct pt_element : pt_element_common {};
class vma {
public:
	virtual void fault();
	struct {
		u64 _start, _end;
	} _range;
	u32 _perm, _flags;
	u64 skipped_0[2];
	rb_node _vma_list_hook;
};
class file_vma : public vma {
public:
	void fault() override;
	intrusive_ptr<file> _file;
	u64 _offset;
	u64 skipped_1[2];
};
struct vma_list_type : rb_tree {};
extern vma_list_type vma_list;
} // namespace mmu

/* ---- areas of its address space ---- */

constexpr u64 KERNEL_SHIFT = 0x40000000;     /* of the kernel: virtual address less physical one */
constexpr u64 MODULE_BASE = 0x100000000000;  /* of the first shared object */
constexpr u64 SOLARIS_BASE = 0x300000000000; /* of libsolaris.so */
constexpr u64 NOWHERE = 0x123456780000;      /* nothing is mapped there */
constexpr u64 MAIN_AREA = 0x400000000000;    /* all physical memory */
constexpr u64 MEMPOOL_AREA = 0x600000000000; /* the same memory */

/* A variable of the kernel as what allocates it sees it: in the linear map. */
template <class T> T *heap(T *variable, u64 area = MAIN_AREA)
{
	return (T *)(area + (u64)variable - KERNEL_SHIFT);
}

/* ---- files of this guest ---- */

extern "C" {
extern u64 page_root[512]; /* start.S */
extern char thread_main[];
void interrupt_stack_enter(void *top, void (*handler)());
void *memcpy(void *to, const void *from, u64 len);
void *memset(void *to, int c, u64 len);
}
void memory_map();
void *module_page();
void *solaris_page();
void state_make(char option);
char *ring_address(int cpu); /* 56 bytes into its mapping */

enum { CPUS = 4, PAGE = 4096, RING_PAGES = 4 };
extern sched::cpu cpus_storage[CPUS];
void threads_make();
/* The thread that the vCPU runs, from now on. */
void thread_run(void (*function)(), void (*interrupt)());
sched::thread *thread_of(int nr);
/* The map's last node points to its first. */
void threads_close_circle();
void threads_spoil();
void threads_break_off();
void list_make(list *l);
void list_append(list *l, list_node *node);

#endif
