// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exit latencies aggregated in the kernel: from kvm_exit to kvm_entry, or, where the backend has no kvm_exit, from
 * kvm_userspace_exit to the next KVM_RUN. No event is passed to user space. See statmap.h for the memory.
 *
 * There are three programs for kvm_exit, one of which is attached: AMD's and Intel's use the tracepoint's own argument,
 * the third the formatted record.
 */
#include "emit.bpf.h"
#include "statmap.h"

const volatile hr_u32 stat_cells = 2; /* per vCPU, set before loading */
hr_u64 stat_missed = 0;		      /* exits of vCPUs not in the map: hot-plugged later */

/* The real value size is set before loading: struct stat_vcpu and its cells. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(hr_u32));
	__uint(value_size, sizeof(struct stat_vcpu) + 2 * sizeof(struct stat_cell));
	__uint(map_flags, BPF_F_MMAPABLE);
} stat_vcpus SEC(".maps");

/* State of a thread that runs a vCPU. */
struct stat_thread {
	hr_u64 left_ns;
	hr_u32 reason;
	hr_u16 vcpu; /* index + 1 */
	hr_u8 open;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stat_thread);
} stat_threads SEC(".maps");

static __always_inline struct stat_thread *stat_thread(bool create)
{
	return bpf_task_storage_get(&stat_threads, bpf_get_current_task_btf(), NULL,
				    create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static __always_inline bool stat_traced(hr_u64 id)
{
	return id >> 32 == only_pid;
}

static __always_inline struct stat_vcpu *stat_vcpu(hr_u32 index)
{
	struct stat_vcpu *v = bpf_map_lookup_elem(&stat_vcpus, &index);

	if (!v)
		__sync_fetch_and_add(&stat_missed, 1);
	return v;
}

/* Keeps the compiler from removing a range check that the verifier of 6.1 needs. */
#define unknown(x) asm volatile("" : "+r"(x))

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

static __always_inline hr_u32 log2_of(hr_u64 v)
{
	hr_u32 e = (v >> 32 != 0) << 5, step;

	v >>= e;
	step = (v > 0xffff) << 4;
	v >>= step;
	e |= step;
	step = (v > 0xff) << 3;
	v >>= step;
	e |= step;
	step = (v > 0xf) << 2;
	v >>= step;
	e |= step;
	step = (v > 3) << 1;
	v >>= step;
	return e | step | (hr_u32)(v >> 1);
}

static __always_inline hr_u32 stat_bucket(hr_u64 ns)
{
	hr_u32 e;

	if (ns < 2 * STAT_SUB)
		return (hr_u32)ns;
	if (ns >> STAT_BITS_MAX)
		return STAT_BUCKETS - 1;
	e = log2_of(ns);
	return (e - STAT_SUB_BITS + 1) * STAT_SUB + (ns >> (e - STAT_SUB_BITS) & (STAT_SUB - 1));
}

static __always_inline void stat_add(struct stat_vcpu *v, hr_u32 reason, hr_u64 ns, bool userspace)
{
	struct stat_cell *cell = stat_cell(v, reason);
	hr_u64 b = stat_bucket(ns);

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
}

/* ---- kvm_exit to kvm_entry ---- */

/* Another thread than before runs this vCPU: stored with the thread, as kvm_userspace_exit has no vCPU. */
static __always_inline void stat_adopt(struct stat_vcpu *v, hr_u32 tid, hr_u32 index)
{
	struct stat_thread *thread = stat_thread(true);

	if (!thread)
		return;
	thread->vcpu = index + 1;
	v->tid = tid;
}

static __always_inline void stat_left(hr_u64 id, hr_u32 index, hr_u32 reason)
{
	struct stat_vcpu *v = stat_vcpu(index);

	if (!v)
		return;
	if (v->tid != (hr_u32)id)
		stat_adopt(v, (hr_u32)id, index);
	v->reason = reason;
	v->open = 1;
	v->userspace = 0;
	v->left_ns = bpf_ktime_get_ns();
}

SEC("tp_btf/kvm_exit")
int BPF_PROG(stat_kvm_exit_svm, struct kvm_vcpu *vcpu)
{
	hr_u64 id = bpf_get_current_pid_tgid();

	if (stat_traced(id))
		stat_left(id, vcpu->vcpu_idx, vcpu_svm_reason(vcpu));
	return 0;
}

SEC("tp_btf/kvm_exit")
int BPF_PROG(stat_kvm_exit_vmx, struct kvm_vcpu *vcpu)
{
	hr_u64 id = bpf_get_current_pid_tgid();

	if (stat_traced(id))
		stat_left(id, vcpu->vcpu_idx, vcpu_vmx_reason(vcpu));
	return 0;
}

SEC("tp/kvm/kvm_exit")
int stat_kvm_exit(struct trace_event_raw_kvm_exit *ctx)
{
	hr_u64 id = bpf_get_current_pid_tgid(), node;

	if (!stat_traced(id))
		return PERF_SEES_IT_TOO;
	node = task_vcpu_node(bpf_get_current_task_btf());
	if (node)
		stat_left(id, BPF_CORE_READ(vcpu_of_node(node), vcpu_idx), ctx->exit_reason);
	return PERF_SEES_IT_TOO;
}

SEC("tp_btf/kvm_entry")
int BPF_PROG(stat_kvm_entry, struct kvm_vcpu *vcpu)
{
	struct stat_vcpu *v;

	if (!stat_traced(bpf_get_current_pid_tgid()))
		return 0;
	v = stat_vcpu(vcpu->vcpu_idx);
	if (!v || !v->open)
		return 0;
	v->open = 0;
	stat_add(v, v->reason, bpf_ktime_get_ns() - v->left_ns, v->userspace);
	return 0;
}

SEC("tp_btf/kvm_userspace_exit")
int BPF_PROG(stat_kvm_exit_user)
{
	struct stat_thread *thread;
	struct stat_vcpu *v;

	if (!stat_traced(bpf_get_current_pid_tgid()))
		return 0;
	thread = stat_thread(false);
	if (!thread || !thread->vcpu)
		return 0;
	v = stat_vcpu(thread->vcpu - 1);
	if (v)
		v->userspace = 1;
	return 0;
}

/* ---- kvm_userspace_exit to KVM_RUN ---- */

/* The vCPU is determined at the next KVM_RUN: here vcpu_put() has already run. */
SEC("tp_btf/kvm_userspace_exit")
int BPF_PROG(stat_userspace_exit, hr_u32 reason, int error)
{
	struct stat_thread *thread;

	if (!stat_traced(bpf_get_current_pid_tgid()))
		return 0;
	thread = stat_thread(true);
	if (!thread)
		return 0;
	thread->reason = userspace_reason(reason, error);
	thread->open = 1;
	thread->left_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/kvm_fpu")
int BPF_PROG(stat_run, int load)
{
	struct stat_thread *thread;
	struct stat_vcpu *v;
	hr_u64 node, ns;

	if (!load || !stat_traced(bpf_get_current_pid_tgid()))
		return 0;
	thread = stat_thread(false);
	if (!thread || !thread->open)
		return 0;
	thread->open = 0;
	ns = bpf_ktime_get_ns() - thread->left_ns;
	node = task_vcpu_node(bpf_get_current_task_btf());
	if (!node || !bpf_core_type_exists(struct kvm_vcpu))
		return 0;
	v = stat_vcpu(BPF_CORE_READ(vcpu_of_node(node), vcpu_idx));
	if (v)
		stat_add(v, thread->reason, ns, true);
	return 0;
}
