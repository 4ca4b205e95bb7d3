/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top --guest-tasks: exits by the task of a Linux guest that caused them, in slots of each vCPU (struct stat_task). */
#ifndef HOSTRACE_STAT_TASK_BPF_H
#define HOSTRACE_STAT_TASK_BPF_H

#include "guest_look.bpf.h"
#include "stat_slots.bpf.h"
#include "statmap.h"

/* The slot of a task, or the one among its places that was not used for the longest time; index. */
static __always_inline hr_u64 task_slot_find(struct stat_vcpu *v, hr_u32 key)
{
	hr_u64 at = key * 0x9e3779b1u >> 16, oldest = 0, oldest_ns = ~0ull;

	for (int i = 0; i < STAT_TRIES; i++, at++) {
		at &= STAT_TASK_SLOTS - 1;
		unknown(at);
		if (at >= STAT_TASK_SLOTS)
			break;
		if (!v->task[at].key || v->task[at].key == key)
			return at;
		if (v->task[at].last_ns < oldest_ns) {
			oldest = at;
			oldest_ns = v->task[at].last_ns;
		}
	}
	return oldest;
}

/* A slot becomes this task's. */
static __always_inline void task_slot_begin(struct stat_vcpu *v, struct stat_task *slot, hr_u32 key)
{
	slot->begun++;
	barrier();
	v->left.count += slot->count;
	v->left.total_ns += slot->total_ns;
	slot->count = 0;
	slot->total_ns = 0;
	slot->key = key;
	barrier();
	slot->begun++;
}

static __attribute__((noinline)) hr_u64 task_slot(struct stat_vcpu *v, const struct guest_task *t)
{
	hr_u32 key = (hr_u32)t->tid + 1;
	hr_u64 at = STAT_TASK_UNKNOWN;

	if (!v || !t)
		return at;
	if (t->address)
		at = task_slot_find(v, key);
	unknown(at);
	if (at >= STAT_TASK_SLOTS)
		return STAT_TASK_UNKNOWN;
	if (v->task[at].key != key)
		task_slot_begin(v, &v->task[at], key);
	__builtin_memcpy(v->task[at].comm, t->comm, sizeof(v->task[at].comm));
	return at;
}

/* Finds where the current task is. vcpu: it is loaded. */
static __always_inline struct guest_kernel *task_kernel(struct guest_look *g, struct kvm_vcpu *vcpu)
{
	hr_u32 number = g->kernel - 1;
	struct guest_kernel *k = bpf_map_lookup_elem(&guest_kernels, &number);

	if (k)
		guest_slot_find(k, g, vcpu);
	return k;
}

/* The vCPU has an exit; vcpu NULL: it is not loaded. */
static __always_inline void task_note(struct stat_vcpu *v, struct guest_look *g,
				      struct kvm_vcpu *vcpu)
{
	struct guest_kernel *k = task_kernel(g, vcpu);
	struct guest_task t = {0};

	if (k && guest_task_changed(k, g, &t))
		g->task = t;
	else if (v->task_now)
		return;
	v->task_now = task_slot(v, &g->task) + 1;
}

static __always_inline void task_add(struct stat_vcpu *v, hr_u64 now, hr_u64 ns)
{
	hr_u64 at = v->task_now - 1ull;

	unknown(at);
	if (at >= STAT_TASKS)
		return;
	v->task[at].count++;
	v->task[at].total_ns += ns;
	v->task[at].last_ns = now;
}

#endif
