// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads. Those that wait have really been run on their stacks up to sched::thread::wait(), so what they left is
 * what a compiler makes. By number:
 *
 *   0  init              runs on vCPU 0; with option i, it waits already and is in an interrupt, on the interrupt stack
 *   1  a thread's name   waits; its stack is not in the linear map
 *   2  new               has no vCPU yet
 *   3  locker            waits in a function without frame pointer
 *   4  ...               one for each status, never run
 *  14  application       in the module libtest.so, whose .eh_frame leads out of it; it has no frame pointer
 */
#include "sched.hh"

using sched::thread;

enum { RUNNABLE = 4, APPLICATION = RUNNABLE + 10, THREADS, STACK = 16384 };

void *operator new(unsigned long, void *at)
{
	return at;
}

extern "C" {
extern char tls_begin[], tls_end[]; /* the segment PT_TLS: guest.lds */
void thread_main_c(thread *t);
}

alignas(16) static u8 threads[THREADS][sizeof(thread)];
static thread::detached_state states[THREADS];
static std::hash_node<thread *> nodes[THREADS];
alignas(16) static u8 stacks[RUNNABLE + 1][STACK];
alignas(64) static u8 tls_blocks[RUNNABLE + 1][512];
alignas(16) static u8 boot_storage[sizeof(thread)];

thread *thread_of(int nr)
{
	return heap((thread *)threads[nr]);
}

__attribute__((noinline)) static void waiter_main()
{
	static volatile u64 never;

	sched::wait_until([] { return never; });
	asm volatile("nop");
}

void mutex_lock(volatile u64 *owner);

__attribute__((noinline)) static void critical()
{
	static volatile u64 owner = 1;

	mutex_lock(&owner);
	asm volatile("nop");
}

extern "C" __attribute__((noinline)) void thread_main_c(thread *t)
{
	t->_func[0]();
	asm volatile("nop");
}

/* x86-64's TLS: the block ends where the TCB begins, whose address is in FS_BASE. */
static void tls_make(thread *t, int nr)
{
	u64 size = ((u64)tls_end - (u64)tls_begin + 15) & ~15ul;
	u8 *block = heap(tls_blocks[nr]);

	memcpy(block, tls_begin, (u64)tls_end - (u64)tls_begin);
	t->_tcb = (thread_control_block *)(block + size);
	*t->_tcb = {t->_tcb, block, 0};
}

/* s_current of a thread that does not run: as far from its TCB as ours is from ours. */
static void current_set(thread *t)
{
	*(thread **)((u64)t->_tcb + (u64)&sched::s_current - (u64)sched::s_current->_tcb) = t;
}

static void stack_make(thread *t, int nr, void (*function)())
{
	u8 *begin = nr == 1 ? (u8 *)0x200000300000 : heap(stacks[nr]);

	t->_func[0] = function;
	t->_attr._stack = {begin, STACK, nullptr};
	t->_state = {nullptr, begin + STACK, t, thread_main, {}};
	tls_make(t, nr);
	current_set(t);
}

static void name_put(char *to, const char *name)
{
	for (int i = 0; i < 16 && *name; i++)
		to[i] = *name++;
}

static const u32 infinite = 0x7f800000, quarter = 0x3e800000; /* floats: its code has no FPU */

static void thread_make(int nr, const char *name, int cpu, thread::status st)
{
	thread *t = new (thread_of(nr)) thread;

	list_make(&thread_of(nr)->_active_timers);
	t->_timers_need_reload = true;
	memset((u8 *)&t->_timers_need_reload + 1, 0xa5, 7); /* what the padding holds */
	t->_id = 10 + nr;
	t->_total_cpu_time.__r = 1000000 * (nr + 1);
	memcpy(&t->_runtime._Rtt, nr == 2 ? &infinite : &quarter, 4);
	name_put(t->_attr._name._M_elems, name);
	t->_detached_state._M_t._M_t._M_head_impl = heap(&states[nr]);
	states[nr] = {t, cpu < 0 ? nullptr : heap(&cpus_storage[cpu]), false, {{st}}};
	nodes[nr] = {nr + 1 < THREADS ? heap(&nodes[nr + 1]) : nullptr, t->_id, t};
}

void list_make(list *l)
{
	l->header()->next_ = l->header()->prev_ = l->header();
}

void list_append(list *l, list_node *node)
{
	list_node *header = l->header(), *last = header->prev_;

	*node = {header, last};
	last->next_ = heap(node);
	header->prev_ = heap(node);
	l->data_.root_plus_size_.size_++;
}

/* The waiter has one that is armed, one that never expires and one that has expired. */
static void timers_make()
{
	static sched::timer_base timers[] = {{{}, {}, nullptr, sched::timer_base::state::armed, 15033114200},
					     {{}, {}, nullptr, sched::timer_base::state::armed, 0x7fffffffffffffff},
					     {{}, {}, nullptr, sched::timer_base::state::expired, 2500000000}};

	for (sched::timer_base &timer : timers)
		list_append(&thread_of(1)->_active_timers, &timer.client_hook);
}

/* As if libtest.so's function had been called by thread_main. */
static void application_make()
{
	static u64 stack[8];
	thread *t = thread_of(APPLICATION);

	thread_make(APPLICATION, "application", 3, thread::status::queued);
	t->_attr._stack = {heap(stack), sizeof(stack), nullptr};
	stack[6] = (u64)thread_main + 8;
	t->_state = {nullptr, heap(&stack[6]), (void *)0x5678, (void *)(MODULE_BASE + 0x1008), {}};
}

/* Until it waits. */
static void thread_start(int nr, void (*function)())
{
	stack_make(thread_of(nr), nr, function);
	thread_of(nr)->switch_to();
}

void threads_make()
{
	thread_make(0, "init", 0, thread::status::running);
	thread_make(1, "a thread's name", 1, thread::status::waiting);
	thread_make(2, "new", -1, thread::status::unstarted);
	thread_make(3, "locker", 2, thread::status::waiting);
	application_make();
	timers_make();
	for (int i = RUNNABLE; i < APPLICATION; i++)
		thread_make(i, "idle", i % CPUS, (thread::status)(i - RUNNABLE));
	sched::boot_thread = (thread *)boot_storage;
	tls_make(sched::boot_thread, RUNNABLE);
	asm volatile("wrmsr" : : "c"(0xc0000100), "a"((u32)(u64)sched::boot_thread->_tcb),
		     "d"((u32)((u64)sched::boot_thread->_tcb >> 32)) : "memory");
	sched::s_current = sched::boot_thread;
	stack_make(thread_of(2), 2, waiter_main);
	thread_start(1, waiter_main);
	thread_start(3, critical);
	sched::thread_map._M_h._M_before_begin._M_nxt = heap(nodes);
	sched::thread_map._M_h._M_element_count = THREADS;
}

void threads_close_circle()
{
	nodes[THREADS - 1]._M_nxt = heap(nodes);
}

void threads_spoil()
{
	nodes[4].second = (thread *)NOWHERE;
	thread_of(5)->_detached_state._M_t._M_t._M_head_impl = (thread::detached_state *)NOWHERE;
	states[6]._cpu = (sched::cpu *)NOWHERE;
}

void threads_break_off()
{
	nodes[2]._M_nxt = (std::hash_node<thread *> *)NOWHERE;
}

static void (*interrupt_handler)();
static void (*run_function)();

static void init_main()
{
	run_function();
	if (interrupt_handler) {
		thread *t = sched::s_current;

		states[0].st._M_i = thread::status::waiting; /* it is about to give up the vCPU */
		interrupt_stack_enter(t->_arch.interrupt_stack + sizeof(t->_arch.interrupt_stack), interrupt_handler);
	}
	asm volatile("cli; hlt");
}

void thread_run(void (*function)(), void (*interrupt)())
{
	run_function = function;
	interrupt_handler = interrupt;
	thread_start(0, init_main);
}
