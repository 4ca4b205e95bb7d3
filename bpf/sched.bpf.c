// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * When the threads of a VM are switched in and out. These tracepoints fire for every thread of the
 * host, so the test whether it concerns a VM comes first.
 */
#include "emit.bpf.h"
#include "syscalls.h"

/* Sets the record's owner to a VM's thread, which need not be the current one. False: no ring. */
static __always_inline bool emit_for(struct emit *e, struct task_struct *task)
{
	struct thread_state *state;
	hr_u64 node;

	e->pid = task->tgid;
	e->tid = task->pid;
	e->vcpu = RECORD_NO_VCPU;
	ring_here(e);
	if (!e->ring)
		return false;
	state = bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!state)
		return true;
	node = task_vcpu_node(task);
	if (!state->vcpu && node && bpf_core_type_exists(struct kvm_vcpu)) {
		struct kvm_vcpu *vcpu = vcpu_of_node(node);

		if (vcpu_is_run_by(vcpu, task))
			state->vcpu = BPF_CORE_READ(vcpu, vcpu_idx) + 1;
	}
	emit_thread(e, state, task);
	return true;
}

static __always_inline void emit_switch(struct emit *e, bool preempt, struct task_struct *prev,
					struct task_struct *next, unsigned int prev_state)
{
	struct rec_sched_switch *rec = reserve(e, sched_switch);

	if (!rec)
		return;
	rec->prev_state = preempt ? 0 : prev_state;
	rec->prev_tid = prev->pid;
	rec->next_tid = next->pid;
	bpf_probe_read_kernel_str(rec->prev_comm, sizeof(rec->prev_comm), prev->comm);
	bpf_probe_read_kernel_str(rec->next_comm, sizeof(rec->next_comm), next->comm);
	emit_publish(e);
}

/* One record per VM concerned: for the thread switched out, else for the one switched in. */
SEC("tp_btf/sched_switch")
int BPF_PROG(tp_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	hr_u32 prev_pid = prev->tgid, next_pid = next->tgid;
	struct emit e;

	if (vm_scheduled(prev_pid) && emit_for(&e, prev))
		emit_switch(&e, preempt, prev, next, prev_state);
	if (next_pid != prev_pid && vm_scheduled(next_pid) && emit_for(&e, next))
		emit_switch(&e, preempt, prev, next, prev_state);
	return 0;
}

static __always_inline struct thread_state *state_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* What glibc's pthread_mutex_t begins with (x86-64). */
struct mutex_words {
	hr_u32 word, count, owner, nusers;
};

enum { WORD_UNKNOWN = 0xffffffff };

/* Of the current thread's process. An address that is not mapped, or 0: unknown. */
static __always_inline void mutex_read(struct mutex_words *m, hr_u64 address)
{
	if (!address || bpf_probe_read_user(m, sizeof(*m), (void *)address)) {
		m->word = WORD_UNKNOWN;
		m->owner = 0;
	}
}

/* include/linux/sched.h: a thread of the process that is the kernel's, with the registers of the one that made it. */
enum { PF_IO_WORKER = 0x10, PF_USER_WORKER = 0x4000 };

/*
 * The registers that the system call was entered with, and 16 bytes of the mutex. A free lock costs nothing this way:
 * neither system calls nor the lock's functions are probed.
 */
SEC("tp_btf/sched_switch")
int BPF_PROG(tp_sched_block, bool preempt, struct task_struct *prev)
{
	struct mutex_words lock = {.word = WORD_UNKNOWN}, global;
	struct vm_settings *s;
	struct emit e;
	hr_u32 pid = prev->tgid;

	if (!vm_scheduled(pid) || prev->flags & (PF_IO_WORKER | PF_USER_WORKER) ||
	    !emit_for(&e, prev))
		return 0;

	const struct task_regs *regs = task_regs_of(prev);
	hr_u64 arg0 = SYSCALL_ARG1(regs), arg1 = SYSCALL_ARG2(regs), address;
	hr_s32 number = syscall_nr(regs);
	hr_u32 ns_tid = task_ns_tid(prev);

	s = bpf_map_lookup_elem(&vms, &pid);
	address = s ? s->global_mutex : 0;
	mutex_read(&global, address);
	if (number == SYSCALL_FUTEX)
		mutex_read(&lock, arg0);

	struct rec_sched_block *rec = reserve(&e, sched_block);

	if (!rec)
		return 0;
	rec->arg0 = arg0;
	rec->arg1 = arg1;
	rec->syscall = syscall_in_event(number);
	rec->is_global = number == SYSCALL_FUTEX && address && arg0 == address;
	rec->word = lock.word;
	rec->owner = lock.owner;
	rec->global_word = global.word;
	rec->global_owner = global.owner;
	rec->ns_tid = ns_tid;
	emit_publish(&e);
	return 0;
}

/* ---- what the holder of the global mutex does while others wait for it ---- */

/* In pieces: reading beyond the stack's end would fail as a whole. */
static __always_inline void stack_copy(struct stack_copy *copy, struct task_struct *task)
{
	stack_registers(copy, (void *)bpf_task_pt_regs(task));
	copy->bytes = 0;
	for (int i = 0; i < STACK_STEPS; i++) {
		hr_u32 from = i * STACK_STEP_BYTES;

		if (copy->bytes != from ||
		    bpf_probe_read_user(copy->stack + from, STACK_STEP_BYTES,
					(void *)(copy->rsp + from)))
			break;
		copy->bytes = from + STACK_STEP_BYTES;
	}
}

enum { MUTEX_CONTENDED = 2 };

/*
 * Of the current task, if it holds its process's global mutex. At ticks only while others may wait; who leaves the
 * CPU with it makes others wait soon.
 */
static __always_inline void emit_holder(struct task_struct *task, bool sampled)
{
	struct mutex_words global;
	struct stack_copy *copy;
	struct vm_settings *s;
	struct emit e;
	hr_u32 pid = task->tgid;

	if (!vm_scheduled(pid))
		return;
	s = bpf_map_lookup_elem(&vms, &pid);
	if (!s || !s->global_mutex)
		return;
	mutex_read(&global, s->global_mutex);
	if (!global.word || (sampled && global.word != MUTEX_CONTENDED) ||
	    global.owner != task_ns_tid(task) || !emit_for(&e, task))
		return;
	copy = emit_reserve(&e, EV_sched_holder, sizeof(*copy));
	if (!copy)
		return;
	copy->sampled = sampled;
	stack_copy(copy, task);
	emit_publish(&e);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(tp_sched_holder, bool preempt, struct task_struct *prev)
{
	emit_holder(prev, false);
	return 0;
}

/* At each tick of a clock of its own, on every CPU. */
SEC("perf_event")
int pe_sched_holder(void *ctx)
{
	emit_holder(bpf_get_current_task_btf(), true);
	return 0;
}

/* ---- what event loops do ---- */

static __always_inline void emit_stack(struct task_struct *task, bool sampled)
{
	struct stack_copy *copy;
	struct emit e;

	if (!emit_for(&e, task) || e.vcpu != RECORD_NO_VCPU)
		return;
	copy = emit_reserve(&e, EV_sched_stack, sizeof(*copy));
	if (!copy)
		return;
	copy->sampled = sampled;
	stack_copy(copy, task);
	emit_publish(&e);
}

/* Only of the main thread and of those that have polled: others are many, and their work is not an event loop's. */
static __always_inline bool is_loop(struct task_struct *task, const struct thread_state *state)
{
	return state->polled || task->pid == task->tgid;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(tp_sched_stack, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct thread_state *state;

	if (preempt || !prev_state || !vm_scheduled(prev->tgid))
		return 0;
	state = state_of(prev);
	if (!state)
		return 0;
	if (syscall_polls(syscall_in_event(syscall_nr(task_regs_of(prev)))))
		state->polled = true;
	else if (is_loop(prev, state))
		emit_stack(prev, false);
	return 0;
}

/* At each tick of a clock of its own, on every CPU. */
SEC("perf_event")
int pe_sched_stack(void *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state = vm_scheduled(task->tgid) ? state_of(task) : NULL;

	if (state && is_loop(task, state))
		emit_stack(task, true);
	return 0;
}

/* Unlike sched_wakeup, which may fire on the CPU of the woken thread, it fires in the thread that wakes. */
SEC("tp_btf/sched_waking")
int BPF_PROG(tp_sched_woken, struct task_struct *p)
{
	hr_u64 id = bpf_get_current_pid_tgid();
	struct emit e;

	if (!vm_scheduled(p->tgid) || !emit_for(&e, p))
		return 0;

	struct rec_sched_woken *rec = reserve(&e, sched_woken);

	if (!rec)
		return 0;
	rec->waker_tid = (hr_u32)id;
	rec->waker_pid = id >> 32;
	bpf_get_current_comm(rec->waker_comm, sizeof(rec->waker_comm));
	emit_publish(&e);
	return 0;
}

/* ---- who runs while a thread of a VM waits ---- */

enum { CPUS_WATCHED = 4096 }; /* on further ones only who preempted the thread is known */

/* Of a CPU: threads of VMs that were preempted or woken on it and have not run since; the newest of them. */
struct cpu_waiters {
	hr_u32 nr, pid, tid;
	hr_u32 watched; /* sched_ran is recorded */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, CPUS_WATCHED);
	__type(key, hr_u32);
	__type(value, struct cpu_waiters);
} cpus_waited SEC(".maps");

static __always_inline void wait_begins(struct task_struct *task, struct cpu_waiters *w, hr_u32 cpu)
{
	struct thread_state *state = state_of(task);

	if (!state || state->waits_cpu)
		return;
	state->waits_cpu = cpu + 1;
	w->pid = task->tgid;
	w->tid = task->pid;
	__sync_fetch_and_add(&w->nr, 1);
}

/* It may run on another CPU than it waited for. */
static __always_inline void wait_ends(struct task_struct *task)
{
	struct thread_state *state = state_of(task);
	struct cpu_waiters *w;
	hr_u32 cpu;

	if (!state || !state->waits_cpu)
		return;
	cpu = state->waits_cpu - 1;
	state->waits_cpu = 0;
	w = bpf_map_lookup_elem(&cpus_waited, &cpu);
	if (w)
		__sync_fetch_and_add(&w->nr, -1);
}

static __always_inline void emit_ran(struct cpu_waiters *w, struct task_struct *prev,
				     struct task_struct *next)
{
	struct emit e = {.pid = w->pid, .tid = w->tid, .vcpu = RECORD_NO_VCPU};
	struct rec_sched_ran *rec;

	ring_here(&e);
	rec = e.ring ? reserve(&e, sched_ran) : NULL;
	if (!rec)
		return;
	rec->prev_tid = prev->pid;
	rec->next_tid = next->pid;
	bpf_probe_read_kernel_str(rec->prev_comm, sizeof(rec->prev_comm), prev->comm);
	bpf_probe_read_kernel_str(rec->next_comm, sizeof(rec->next_comm), next->comm);
	emit_publish(&e);
}

/* Switches of the VM's own threads are in sched_switch. */
SEC("tp_btf/sched_switch")
int BPF_PROG(tp_sched_ran, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	hr_u32 cpu = bpf_get_smp_processor_id();
	struct cpu_waiters *w = bpf_map_lookup_elem(&cpus_waited, &cpu);

	if (!w)
		return 0;
	w->watched = true;
	if (w->nr && prev->tgid != w->pid && next->tgid != w->pid)
		emit_ran(w, prev, next);
	if ((preempt || !prev_state) && vm_scheduled(prev->tgid))
		wait_begins(prev, w, cpu);
	if (vm_scheduled(next->tgid))
		wait_ends(next);
	return 0;
}

/* The header holds the woken thread's VM and the waker's thread, in which it happened. */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(tp_sched_wakeup, struct task_struct *p)
{
	struct cpu_waiters *w;
	struct emit e;
	hr_u32 cpu;

	if (!vm_scheduled(p->tgid) || !emit_for(&e, p))
		return 0;
	cpu = task_cpu(p);
	w = bpf_map_lookup_elem(&cpus_waited, &cpu);
	if (w && w->watched)
		wait_begins(p, w, cpu);
	e.tid = (hr_u32)bpf_get_current_pid_tgid();
	e.vcpu = RECORD_NO_VCPU;

	struct rec_sched_wakeup *rec = reserve(&e, sched_wakeup);

	if (!rec)
		return 0;
	rec->wake_tid = p->pid;
	rec->target_cpu = cpu;
	bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), p->comm);
	emit_publish(&e);
	return 0;
}
