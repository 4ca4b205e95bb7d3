/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recording an event: check that it belongs to a traced VM, reserve a slot in this CPU's ring, fill it, publish it.
 *
 *	struct emit e;
 *	struct rec_kvm_pio *rec = record_begin(&e, kvm_pio);
 *
 *	if (!rec)
 *		return 0;
 *	rec->port = port;
 *	emit_publish(&e);
 *
 * All fields of a record must be written, because the ring is not cleared. See ring.h for the ring.
 */
#ifndef HOSTRACE_EMIT_BPF_H
#define HOSTRACE_EMIT_BPF_H

#include "compat.bpf.h"
#include "guest_task.h"
#include "registers.bpf.h"

/* A tp program that returns 0 hides the event from all users of perf (trace_call_bpf()). */
enum { PERF_SEES_IT_TOO = 1 };

#define barrier() asm volatile("" ::: "memory")

/* Set before loading; the verifier treats them as constants. */
const volatile hr_u64 ring_mask __weak = 4095; /* ring_bytes - 1 */
const volatile hr_u64 ring_secret __weak = 0;
const volatile hr_u32 only_pid __weak = 0; /* the only traced VM; 0: look it up in vms */

hr_u32 only_pid_reused __weak = 0; /* 1: it has ended, and its pid is another process's */

/* All rings; the real value size is set before loading: head, ring, spill. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(hr_u32));
	__uint(value_size, RING_HEAD_BYTES + 4096 + RING_SPILL_BYTES);
	__uint(map_flags, BPF_F_MMAPABLE);
} rings SEC(".maps") __weak;

/* The traced VMs by process id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VMS_MAX);
	__type(key, hr_u32);
	__type(value, struct vm_settings);
} vms SEC(".maps") __weak;

/* State of a thread; freed by the kernel with the thread. */
struct thread_state {
	hr_u16 vcpu;	 /* index + 1; 0: none known */
	hr_u8 named;	 /* `thread` was written */
	hr_u8 tsc_written; /* `vcpu_tsc` was written */
	hr_u32 waits_cpu;  /* number + 1 of the CPU that it was preempted or woken on, and waits for; 0: none */
	hr_u64 pop_vq;	 /* these three: from a function's entry to its return */
	hr_u64 drop_vq;
	hr_u64 reset_vdev;
	hr_u32 polled; /* it has slept in a system call that waits for events: an event loop */
	hr_u32 pad;
	hr_u64 tsc_ratio; /* that `vcpu_tsc` was written with */
	struct guest_look guest;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps") __weak;

struct emit {
	hr_u8 *ring;
	hr_u8 *slot;
	hr_u64 mark;
	hr_u32 pid, tid;
	hr_u32 cpu;
	hr_u16 vcpu;
};

static __always_inline bool vm_traced(hr_u32 pid)
{
	if (only_pid)
		return pid == only_pid && !only_pid_reused;
	return bpf_map_lookup_elem(&vms, &pid) != NULL;
}

/* For events that any process has, not only a VM: not those of a command that merely starts one. */
static __always_inline bool vm_scheduled(hr_u32 pid)
{
	struct vm_settings *s;

	if (only_pid)
		return pid == only_pid && !only_pid_reused;
	s = bpf_map_lookup_elem(&vms, &pid);
	return s && s->follow != FOLLOW_WRAPPER;
}

static __always_inline void ring_here(struct emit *e)
{
	hr_u32 cpu = bpf_get_smp_processor_id();

	e->cpu = cpu;
	e->ring = bpf_map_lookup_elem(&rings, &cpu);
}

static __always_inline void emit_lost(struct emit *e, hr_u16 type)
{
	__sync_fetch_and_add(&((struct ring_head *)(void *)e->ring)->lost[type], 1);
}

/*
 * Reserves a slot in e->ring for a record of this type and fills its header from e. NULL (and
 * counted) if there is no space. The time is read last, so that a record that is not yet reserved is
 * later than all that the reader has seen.
 */
static __always_inline void *emit_reserve(struct emit *e, hr_u16 type, hr_u32 size)
{
	struct ring_head *head = (void *)e->ring;
	hr_u32 slot_bytes = size + RING_MARK_BYTES;
	hr_u64 pos = head->head;

	if (pos - head->tail + slot_bytes > ring_mask + 1 - RING_RESERVE_BYTES) {
		emit_lost(e, type);
		return NULL;
	}
	pos = __sync_fetch_and_add(&head->head, slot_bytes);
	e->mark = pos + ring_secret;
	e->slot = e->ring + RING_HEAD_BYTES + (pos & ring_mask);

	struct record_hdr *hdr = (void *)(e->slot + RING_MARK_BYTES);

	hdr->time = bpf_ktime_get_ns();
	hdr->pid = e->pid;
	hdr->tid = e->tid;
	hdr->type = type;
	hdr->size = size;
	hdr->cpu = e->cpu;
	hdr->vcpu = e->vcpu;
	return hdr;
}

#define reserve(e, name)                                                                           \
	((struct rec_##name *)emit_reserve(e, EV_##name, sizeof(struct rec_##name)))

/* Makes the slot visible to the reader. x86 keeps stores in order; the barrier is for the compiler. */
static __always_inline void emit_publish(struct emit *e)
{
	barrier();
	*(volatile hr_u64 *)e->slot = e->mark;
}

/* ---- threads and vCPUs ---- */

/* "CPU 4/TCG": QEMU's thread that emulates vCPU 4 (accel/tcg/tcg-accel-ops-mttcg.c). Index + 1; 0: another name. */
static __always_inline hr_u32 emulated_vcpu(const char *comm)
{
	hr_u32 index = 0, at = 4;

	if (comm[0] != 'C' || comm[1] != 'P' || comm[2] != 'U' || comm[3] != ' ')
		return 0;
	for (; at < 8 && comm[at] >= '0' && comm[at] <= '9'; at++)
		index = 10 * index + (hr_u32)(comm[at] - '0');
	if (at == 4 || comm[at] != '/' || comm[at + 1] != 'T' || comm[at + 2] != 'C' ||
	    comm[at + 3] != 'G')
		return 0;
	return index + 1;
}

/* The thread's vCPU from now on, and its name, if that was not written yet. */
static __always_inline void emit_thread(struct emit *e, struct thread_state *state,
					struct task_struct *task)
{
	struct rec_thread *rec;

	e->vcpu = state->vcpu - 1;
	rec = state->named ? NULL : reserve(e, thread);
	if (!rec)
		return;
	bpf_probe_read_kernel_str(rec->comm, sizeof(rec->comm), task->comm);
	if (!state->vcpu)
		state->vcpu = (hr_u16)emulated_vcpu(rec->comm);
	emit_publish(e);
	state->named = 1;
	e->vcpu = state->vcpu - 1;
}

/* Unless the newest one has the same ratio: VMMs set it after the vCPU exists. Changes of the offset have an event. */
static __always_inline void emit_vcpu_tsc(struct emit *e, struct thread_state *state,
					  struct kvm_vcpu *vcpu)
{
	hr_u64 ratio = vcpu_l1_tsc_ratio(vcpu);
	struct rec_vcpu_tsc *rec;

	if (state->tsc_written && state->tsc_ratio == ratio)
		return;
	rec = reserve(e, vcpu_tsc);
	if (!rec)
		return;
	rec->offset = vcpu_l1_tsc_offset(vcpu);
	rec->scale_bits = tsc_ratio_bits(ratio);
	rec->scale = rec->scale_bits ? ratio : 0;
	emit_publish(e);
	state->tsc_written = 1;
	state->tsc_ratio = ratio;
}

/* The vCPU to which this preempt notifier belongs: KVM is their only user. */
static __always_inline struct kvm_vcpu *vcpu_of_node(hr_u64 node)
{
	return (void *)(node - bpf_core_field_offset(struct kvm_vcpu, preempt_notifier.link));
}

/*
 * Whether the thread runs the vCPU that it has loaded. Others load it, too: QEMU's main thread, to set registers before
 * the first KVM_RUN, and the thread that ends the VM, to destroy it. The vCPU's pid is the thread that called KVM_RUN
 * last, NULL before.
 */
static __always_inline bool vcpu_is_run_by(struct kvm_vcpu *vcpu, struct task_struct *task)
{
	return BPF_CORE_READ(vcpu, pid) == BPF_CORE_READ(task, thread_pid);
}

/* The first events of a thread record its name and, if it is a vCPU, its TSC offset and ratio. vcpu may be NULL. */
static __always_inline struct thread_state *thread_state(struct emit *e, struct kvm_vcpu *vcpu)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *state =
		bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!state)
		return NULL;
	if (vcpu && !vcpu_is_run_by(vcpu, task))
		vcpu = NULL;
	if (vcpu)
		state->vcpu = BPF_CORE_READ(vcpu, vcpu_idx) + 1;
	emit_thread(e, state, task);
	if (vcpu)
		emit_vcpu_tsc(e, state, vcpu);
	return state;
}

/*
 * The vCPU of this thread: from this CPU's cache if it was here last, else from the thread's state. Between two
 * KVM_RUN a vCPU's thread has no preempt notifier, but still counts as that vCPU.
 */
static __always_inline void vcpu_find(struct emit *e)
{
	struct ring_head *head = (void *)e->ring;
	hr_u64 node = task_vcpu_node(bpf_get_current_task_btf());

	e->vcpu = RECORD_NO_VCPU;
	if (e->tid == head->vcpu_tid && (!node || node == head->vcpu_node)) {
		e->vcpu = head->vcpu_index;
		return;
	}
	if (!node) {
		thread_state(e, NULL);
		return;
	}
	if (bpf_core_type_exists(struct kvm_vcpu))
		thread_state(e, vcpu_of_node(node));
	if (e->vcpu != RECORD_NO_VCPU) {
		head->vcpu_node = node;
		head->vcpu_tid = e->tid;
		head->vcpu_index = e->vcpu;
	}
}

/* True if the current thread belongs to a traced VM; then e holds the thread, its CPU's ring and its vCPU. */
static __always_inline bool emit_begin(struct emit *e)
{
	hr_u64 id = bpf_get_current_pid_tgid();

	e->pid = id >> 32;
	e->tid = (hr_u32)id;
	if (!vm_traced(e->pid))
		return false;
	ring_here(e);
	if (!e->ring)
		return false;
	vcpu_find(e);
	return true;
}

/* The usual start of a program: the record to fill, or NULL. */
#define record_begin(e, name) (emit_begin(e) ? reserve(e, name) : NULL)

#endif
