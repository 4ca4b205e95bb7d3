// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exit latencies aggregated in the kernel: from kvm_exit to kvm_entry, or, where the backend has no kvm_exit, from
 * kvm_userspace_exit to the next KVM_RUN. No event is passed to user space. See statmap.h for the memory.
 *
 * There are three programs for kvm_exit, one of which is attached: AMD's and Intel's use the tracepoint's own argument,
 * the third the formatted record.
 */
#include "stat_ready.bpf.h"
#include "stat_slots.bpf.h"
#include "stat_still.bpf.h"
#include "stat_task.bpf.h"
#include "stat_vcpu.bpf.h"

/* The cell of this reason, allocated if there is none yet; the last cell if all are in use. */
static __always_inline struct stat_cell *stat_cell(struct stat_vcpu *v, hr_u32 reason)
{
	struct stat_cell *cells = (void *)(v + 1);
	hr_u64 key = stat_key(reason);
	hr_u8 *of;
	hr_u64 c;

	unknown(key);
	of = &v->cell_of[key & (STAT_KEYS - 1)];
	c = *of;

	if (!c && v->nr_cells + 1 < stat_cells) {
		c = v->nr_cells;
		if (c >= stat_cells)
			return NULL;
		cells[c].reason = reason;
		cells[c].min_ns = ~0ull;
		v->nr_cells = c + 1;
		*of = c + 1;
		return &cells[c];
	}
	c--; /* 0 wraps to a number beyond all cells, as intended */
	if (c < stat_cells && cells[c].reason == reason)
		return &cells[c];
	c = stat_cells - 1;
	if (!cells[c].count)
		cells[c].min_ns = ~0ull;
	return &cells[c];
}

/* ---- details: what the time of an exit goes into ---- */

static __always_inline void phase_begin(struct stat_vcpu *v, hr_u8 phase, hr_u64 now)
{
	v->phase = phase;
	v->mark_ns = now;
}

static __always_inline void phase_end(struct stat_vcpu *v, hr_u64 now)
{
	hr_u64 phase = v->phase;

	unknown(phase);
	if (phase < STAT_CAUSES)
		v->cause_ns[phase] += now - v->mark_ns;
}

static __always_inline void phase_change(struct stat_vcpu *v, hr_u8 phase)
{
	hr_u64 now = bpf_ktime_get_ns();

	phase_end(v, now);
	phase_begin(v, phase, now);
}

static __always_inline void causes_add(struct stat_vcpu *v, struct stat_cell *cell, hr_u64 now)
{
	hr_u64 port = v->in_port - 1ull;

	phase_end(v, now);
	for (int i = 0; i < STAT_CAUSES; i++) {
		cell->cause_ns[i] += v->cause_ns[i];
		v->cause_ns[i] = 0;
	}
	unknown(port);
	if (port < STAT_PORTS)
		v->port[port].total_ns += now - v->left_ns;
	v->in_port = 0;
}

/* ---- a span ---- */

static __always_inline void span_begin(struct stat_vcpu *v, hr_u32 reason, hr_u8 phase, hr_u64 now)
{
	v->reason = reason;
	v->userspace = phase == STAT_IN_VMM;
	v->left_ns = now;
	if (stat_details)
		phase_begin(v, phase, now);
	barrier();
	v->open = 1;
}

static __always_inline void span_end(struct stat_vcpu *v, hr_u32 reason, hr_u64 left_ns,
				     bool userspace)
{
	struct stat_cell *cell = stat_cell(v, reason);
	hr_u64 now = bpf_ktime_get_ns(), ns = now - left_ns, b = stat_bucket(ns);
	bool open = v->open;

	v->open = 0;
	barrier();
	unknown(b);
	if (!cell || b >= STAT_BUCKETS)
		return;
	cell->count++;
	cell->total_ns += ns;
	cell->userspace += userspace;
	if (ns < cell->min_ns)
		cell->min_ns = ns;
	if (ns > cell->max_ns)
		cell->max_ns = ns;
	cell->bucket[b]++;
	if (stat_details && open)
		causes_add(v, cell, now);
	if (stat_tasks && open)
		task_add(v, now, ns);
}

/* ---- kvm_exit to kvm_entry ---- */

/* Another thread than before runs this vCPU: stored with the thread, as kvm_userspace_exit has no vCPU. */
static __always_inline void stat_adopt(struct stat_vcpu *v, hr_u32 tid, hr_u32 slot)
{
	struct stat_thread *thread = stat_thread(true);

	if (!thread)
		return;
	thread->slot = slot + 1;
	v->tid = tid;
	v->task_now = 0;
}

static __always_inline void stat_left_task(const struct stat_vm *vm, struct stat_vcpu *v,
					   struct kvm_vcpu *vcpu)
{
	struct stat_thread *thread = stat_thread(false);

	if (!thread)
		return;
	thread->guest.kernel = vm->guest_kernel;
	task_note(v, &thread->guest, vcpu);
}

static __always_inline void stat_left(const struct stat_vm *vm, struct kvm_vcpu *vcpu, hr_u32 index,
				      hr_u32 reason)
{
	hr_u32 tid = bpf_get_current_pid_tgid(), slot;
	struct stat_vcpu *v = stat_vcpu(vm, index, &slot);

	if (!v)
		return;
	if (v->tid != tid)
		stat_adopt(v, tid, slot);
	if (stat_tasks)
		stat_left_task(vm, v, vcpu);
	span_begin(v, reason, STAT_IN_KERNEL, bpf_ktime_get_ns());
}

SEC("tp_btf/kvm_exit")
int BPF_PROG(stat_kvm_exit_svm, struct kvm_vcpu *vcpu)
{
	struct stat_vm vm;

	if (vcpu && stat_exit_here(&vm))
		stat_left(&vm, vcpu, vcpu->vcpu_idx, vcpu_svm_reason(vcpu));
	return 0;
}

SEC("tp_btf/kvm_exit")
int BPF_PROG(stat_kvm_exit_vmx, struct kvm_vcpu *vcpu)
{
	struct stat_vm vm;

	if (vcpu && stat_exit_here(&vm))
		stat_left(&vm, vcpu, vcpu->vcpu_idx, vcpu_vmx_reason(vcpu));
	return 0;
}

SEC("tp/kvm/kvm_exit")
int stat_kvm_exit(struct trace_event_raw_kvm_exit *ctx)
{
	struct stat_vm vm;
	hr_u64 node;

	if (!stat_exit_here(&vm))
		return PERF_SEES_IT_TOO;
	node = task_vcpu_node(bpf_get_current_task_btf());
	if (node)
		stat_left(&vm, vcpu_of_node(node), BPF_CORE_READ(vcpu_of_node(node), vcpu_idx),
			  ctx->exit_reason);
	return PERF_SEES_IT_TOO;
}

SEC("tp_btf/kvm_entry")
int BPF_PROG(stat_kvm_entry, struct kvm_vcpu *vcpu)
{
	struct stat_vcpu *v;
	struct stat_vm vm;
	hr_u32 slot;

	if (!vcpu || !stat_vm_here(&vm))
		return 0;
	v = stat_vcpu(&vm, vcpu->vcpu_idx, &slot);
	if (v && v->open)
		span_end(v, v->reason, v->left_ns, v->userspace);
	return 0;
}

SEC("tp_btf/kvm_userspace_exit")
int BPF_PROG(stat_kvm_exit_user, hr_u32 reason, int error)
{
	struct stat_thread *thread;
	struct stat_vcpu *v;
	struct stat_vm vm;

	if (!stat_vm_find(bpf_get_current_pid_tgid() >> 32, &vm))
		return 0;
	thread = stat_thread(stat_details);
	if (stat_details && thread)
		still_left(&vm, thread, stat_user_reason(reason, error));
	v = stat_vcpu_of(thread);
	if (!v)
		return 0;
	v->userspace = 1;
	if (stat_details && v->open)
		phase_change(v, STAT_IN_VMM);
	return 0;
}

/* Back from the VMM. */
SEC("tp_btf/kvm_fpu")
int BPF_PROG(stat_phase_run, int load)
{
	struct stat_vcpu *v;

	if (!load || !stat_traced(bpf_get_current_pid_tgid()))
		return 0;
	v = stat_vcpu_of(stat_thread(false));
	if (v && v->open)
		phase_change(v, STAT_IN_KERNEL);
	return 0;
}

/* ---- kvm_userspace_exit to KVM_RUN ---- */

/* The vCPU is determined at the next KVM_RUN: here vcpu_put() has already run. */
SEC("tp_btf/kvm_userspace_exit")
int BPF_PROG(stat_userspace_exit, hr_u32 reason, int error)
{
	struct stat_thread *thread;
	struct stat_vcpu *v;
	struct stat_vm vm;

	if (!stat_exit_here(&vm))
		return 0;
	thread = stat_thread(true);
	if (!thread)
		return 0;
	thread->reason = stat_user_reason(reason, error);
	thread->open = 1;
	thread->left_ns = bpf_ktime_get_ns();
	if (stat_details)
		still_left(&vm, thread, thread->reason);
	v = stat_details ? stat_vcpu_of(thread) : NULL;
	if (v && stat_tasks)
		task_note(v, &thread->guest, NULL);
	if (v)
		span_begin(v, thread->reason, STAT_IN_VMM, thread->left_ns);
	return 0;
}

SEC("tp_btf/kvm_fpu")
int BPF_PROG(stat_run, int load)
{
	struct stat_thread *thread;
	struct stat_vcpu *v;
	struct stat_vm vm;
	hr_u32 slot;
	hr_u64 node;

	if (!load || !stat_vm_here(&vm))
		return 0;
	thread = stat_thread(false);
	if (!thread || !thread->open)
		return 0;
	thread->open = 0;
	node = task_vcpu_node(bpf_get_current_task_btf());
	if (!node || !bpf_core_type_exists(struct kvm_vcpu))
		return 0;
	v = stat_vcpu(&vm, BPF_CORE_READ(vcpu_of_node(node), vcpu_idx), &slot);
	if (!v)
		return 0;
	thread->slot = slot + 1;
	v->tid = bpf_get_current_pid_tgid();
	if (stat_tasks) {
		thread->guest.kernel = vm.guest_kernel;
		task_kernel(&thread->guest, vcpu_of_node(node));
	}
	span_end(v, thread->reason, thread->left_ns, true);
	return 0;
}

/* ---- details that have an event of their own ---- */

/* state: 0 if it is runnable */
static __always_inline void switched_out(struct task_struct *task, unsigned int state)
{
	struct stat_thread *thread = stat_thread_of(task, false);
	struct stat_vcpu *v = stat_vcpu_of(thread);

	if (!v)
		return;
	if (state)
		still_begin(v, thread, task, state);
	if (!v->open)
		return;
	v->resumes = v->phase;
	phase_change(v, !state			  ? STAT_PREEMPTED
			: v->phase == STAT_IN_VMM ? STAT_ASLEEP_IN_VMM
						  : STAT_ASLEEP_IN_KERNEL);
}

static __always_inline void switched_in(struct task_struct *task)
{
	struct stat_vcpu *v = stat_vcpu_of(stat_thread_of(task, false));

	if (v)
		still_end(v);
	/* not if the exit, or the watching, began while it was out */
	if (v && v->open && v->phase >= STAT_ASLEEP_IN_KERNEL)
		phase_change(v, v->resumes);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(stat_switch, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	struct stat_vm vm;

	if (stat_vm_find(prev->tgid, &vm))
		switched_out(prev, preempt ? 0 : prev_state);
	if (stat_vm_find(next->tgid, &vm))
		switched_in(next);
	return 0;
}

/*
 * A thread that was woken is not asleep any more: it waits for a CPU. The lock of its run queue, which is held here and
 * when it is switched out and in, orders the three.
 */
SEC("tp_btf/sched_wakeup")
int BPF_PROG(stat_wakeup, struct task_struct *task)
{
	struct stat_vcpu *v;
	struct stat_vm vm;

	if (!stat_vm_find(task->tgid, &vm))
		return 0;
	v = stat_vcpu_in_kvm(&vm, task);
	if (v)
		v->ready_ns = bpf_ktime_get_ns();
	v = stat_vcpu_of(stat_thread_of(task, false));
	if (v && v->open && (v->phase == STAT_ASLEEP_IN_KERNEL || v->phase == STAT_ASLEEP_IN_VMM))
		phase_change(v, STAT_PREEMPTED);
	return 0;
}

/* ---- which cgroups vCPUs wait for ---- */

static __always_inline void steal_add(struct stat_vcpu *v, hr_u64 cgroup, hr_u64 ns)
{
	hr_u64 at = stat_steal_find(v, cgroup + 1);

	unknown(at);
	if (at < STAT_STEALS)
		v->steal[at].ns += ns;
}

/*
 * The scheduler adds the time that a thread has waited to its run_delay, which is what /proc/PID/task/TID/schedstat
 * shows, after this tracepoint has switched it in. So the time is counted when it is switched out again.
 */
static __always_inline void steal_end(struct task_struct *task)
{
	struct stat_thread *thread = stat_thread_of(task, false);
	struct stat_vcpu *v = stat_vcpu_of(thread);
	hr_u64 delay_ns, before_ns;

	if (!v || !thread->delay_known)
		return;
	before_ns = thread->delay_ns;
	delay_ns = BPF_CORE_READ(task, sched_info.run_delay);
	thread->delay_ns = delay_ns;
	if (delay_ns > before_ns)
		steal_add(v, thread->thief, delay_ns - before_ns);
}

static __always_inline void steal_begin(struct task_struct *task, struct task_struct *before)
{
	struct stat_thread *thread = stat_thread_of(task, false);

	if (!thread || !thread->slot)
		return;
	if (!thread->delay_known)
		thread->delay_ns = BPF_CORE_READ(task, sched_info.run_delay);
	thread->delay_known = 1;
	thread->thief = before->pid ? bpf_get_current_cgroup_id() : 0; /* that of `before` */
}

SEC("tp_btf/sched_switch")
int BPF_PROG(stat_steal, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct stat_vm vm;

	if (stat_vm_find(prev->tgid, &vm))
		steal_end(prev);
	if (stat_vm_find(next->tgid, &vm))
		steal_begin(next, prev);
	return 0;
}

/* ---- which tasks have the CPU that vCPUs wait for ---- */

SEC("tp_btf/sched_switch")
int BPF_PROG(stat_ready, bool preempt, struct task_struct *prev, struct task_struct *next,
	     unsigned int prev_state)
{
	hr_u64 now = bpf_ktime_get_ns();
	struct stat_vcpu *v = NULL;
	struct stat_vm vm;
	hr_u32 pid = 0;

	if (stat_vm_find(next->tgid, &vm)) {
		pid = next->tgid;
		v = stat_vcpu_in_kvm(&vm, next);
	} else if (next->tgid == stat_recorder) {
		pid = stat_recorder;
	}
	if (v)
		preemptors_add(v, now);
	ran_begin(next, pid, now);
	v = NULL;
	if (stat_vm_find(prev->tgid, &vm))
		v = stat_vcpu_in_kvm(&vm, prev);
	if (v)
		v->ready_ns = preempt || !prev_state ? now : 0;
	return 0;
}

/* Of a thread that had no exit yet. */
static __always_inline struct stat_vcpu *stat_vcpu_running(const struct stat_vm *vm)
{
	hr_u64 node = task_vcpu_node(bpf_get_current_task_btf());
	hr_u32 slot;

	if (!node || !bpf_core_type_exists(struct kvm_vcpu))
		return NULL;
	return stat_vcpu(vm, BPF_CORE_READ(vcpu_of_node(node), vcpu_idx), &slot);
}

/* raw_tp: see kvm.bpf.c */
SEC("raw_tp/kvm_pio")
int BPF_PROG(stat_pio, unsigned int rw, unsigned int port, unsigned int size, unsigned int count)
{
	hr_u32 key = STAT_PORT_USED | (rw ? STAT_PORT_OUT : 0) | (port & 0xffff);
	struct stat_vcpu *v;
	struct stat_vm vm;
	hr_u64 at;

	if (!stat_vm_here(&vm))
		return 0;
	v = stat_vcpu_of(stat_thread(false));
	if (!v)
		v = stat_vcpu_running(&vm);
	if (!v)
		return 0;
	at = stat_port_find(v, key);
	unknown(at);
	if (at >= STAT_PORTS)
		return 0;
	v->port[at].count += count;
	if (v->open)
		v->in_port = at + 1;
	return 0;
}

/* A read that the VMM answers comes twice: when it begins (type 0), and with its value (type 1). */
SEC("raw_tp/kvm_mmio")
int BPF_PROG(stat_mmio, int type, int len, hr_u64 gpa)
{
	hr_u64 key = (gpa >> STAT_PAGE_SHIFT << STAT_PAGE_SHIFT) | STAT_PAGE_USED, at;
	struct stat_vcpu *v;
	struct stat_vm vm;

	if (!type || !stat_vm_here(&vm))
		return 0;
	v = stat_vcpu_of(stat_thread(false));
	if (!v)
		v = stat_vcpu_running(&vm);
	if (!v)
		return 0;
	at = stat_page_find(v, key | (type == 2 ? STAT_PAGE_WRITE : 0));
	unknown(at);
	if (at < STAT_PAGES)
		v->page[at].count++;
	return 0;
}
