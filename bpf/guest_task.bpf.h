/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record --guest-tasks: guest_task is written when the task differs from the one that was written last for this vCPU
 * (guest_look.bpf.h), before the event of the exit; if there is no space for it, that event is lost as well (and
 * counted), so that no event is ever attributed to the task before.
 */
#ifndef HOSTRACE_GUEST_TASK_BPF_H
#define HOSTRACE_GUEST_TASK_BPF_H

#include "guest_look.bpf.h"

const volatile hr_u32 guest_tasks __weak = 0; /* 1: requested */

static __always_inline bool guest_task_write(struct emit *e, struct thread_state *s,
					     const struct guest_task *t)
{
	struct rec_guest_task *rec = reserve(e, guest_task);

	if (!rec)
		return false;
	rec->task = t->address;
	rec->guest_tid = t->tid;
	rec->guest_pid = t->pid;
	__builtin_memcpy(rec->guest_comm, t->comm, sizeof(rec->guest_comm));
	emit_publish(e);
	s->guest.task = *t;
	return true;
}

/* The kernel of this thread's VM; NULL: it has none. */
static __always_inline struct guest_kernel *guest_kernel_of(struct emit *e, struct guest_look *g)
{
	hr_u32 number;

	if (!g->kernel) {
		struct vm_settings *vm = bpf_map_lookup_elem(&vms, &e->pid);

		g->kernel = vm && vm->guest_kernel ? vm->guest_kernel : GUEST_KERNEL_NONE;
	}
	number = g->kernel - 1;
	return bpf_map_lookup_elem(&guest_kernels, &number);
}

/* False: the event that comes next must not be written. */
static __attribute__((noinline)) bool guest_task_look(struct emit *e)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *s =
		bpf_task_storage_get(&threads, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	hr_u64 node = task_vcpu_node(task);
	struct kvm_vcpu *vcpu = NULL;
	struct guest_kernel *k;
	struct guest_task t = {0};

	if (!s)
		return false;
	if (node && bpf_core_type_exists(struct kvm_vcpu))
		vcpu = vcpu_of_node(node);
	k = guest_kernel_of(e, &s->guest);
	if (!k)
		return true;
	guest_slot_find(k, &s->guest, vcpu);
	return !guest_task_changed(k, &s->guest, &t) || guest_task_write(e, s, &t);
}

/* To be called before the record of an exit is reserved. False: it is lost, and counted. */
static __always_inline bool guest_task_note(struct emit *e, hr_u16 type)
{
	if (!guest_tasks || e->vcpu == RECORD_NO_VCPU || guest_task_look(e))
		return true;
	emit_lost(e, type);
	return false;
}

/* As record_begin(), for events that are attributed to the guest's task. */
#define record_begin_task(e, name)                                                                 \
	(emit_begin(e) && guest_task_note(e, EV_##name) ? reserve(e, name) : NULL)

#endif
