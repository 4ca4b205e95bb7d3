/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * record --guest-tasks: which task of a Linux guest a vCPU runs, read from the guest's memory in the vCPU's own thread,
 * where the VMM has it mapped, without faulting. guest_task is written when the task differs from the one that was
 * written last for this vCPU, before the event of the exit; if there is no space for it, that event is lost as well
 * (and counted), so that no event is ever attributed to the task before.
 *
 * The usual exit costs one read, of the pointer to the current task. A task's name changes with execve(), which
 * the pointer does not show: it is read again every GUEST_NAME_LOOKS exits.
 */
#ifndef HOSTRACE_GUEST_TASK_BPF_H
#define HOSTRACE_GUEST_TASK_BPF_H

#include "emit.bpf.h"

const volatile hr_u32 guest_tasks __weak = 0; /* 1: requested */

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, hr_u32);
	__type(value, struct guest_kernel);
	__uint(map_flags, BPF_F_MMAPABLE);
} guest_kernels SEC(".maps") __weak;

enum {
	GUEST_NAME_LOOKS = 16, /* a power of two */
	GUEST_PID_MAX = 1 << 22, /* PID_MAX_LIMIT, include/linux/threads.h */
};

#define GUEST_KERNEL_NONE ~0u
#define GUEST_EFER_LMA (1ull << 10)

/* The VMM's address of a task_struct; 0: not in the guest's RAM. */
static __always_inline hr_u64 guest_host_address(const struct guest_kernel *k, hr_u64 address)
{
	hr_u64 at = address - (address >= k->image ? k->delta : k->direct);

	for (int i = 0; i < GUEST_RANGES_MAX; i++) {
		hr_u64 within = at - k->range[i].guest, bytes = k->range[i].bytes;

		if (within < bytes && k->task_bytes <= bytes - within)
			return k->range[i].process + within;
	}
	return 0;
}

/* False: there is no task, or something else. */
static __always_inline bool guest_task_read(const struct guest_kernel *k, hr_u32 cpu,
					    struct guest_task *t)
{
	hr_u64 at = guest_host_address(k, t->address);
	hr_u32 on = cpu;

	if (!at || bpf_probe_read_user(&t->tid, 4, (void *)(at + k->tid_at)) ||
	    bpf_probe_read_user(&t->pid, 4, (void *)(at + k->pid_at)) ||
	    bpf_probe_read_user(t->comm, sizeof(t->comm), (void *)(at + k->comm_at)))
		return false;
	if (k->cpu_at >= 0)
		bpf_probe_read_user(&on, 4, (void *)(at + (hr_u32)k->cpu_at));
	t->comm[GUEST_COMM_MAX - 1] = 0;
	return on == cpu && (hr_u32)t->tid <= GUEST_PID_MAX && (hr_u32)t->pid <= GUEST_PID_MAX;
}

static __always_inline bool guest_task_same(const struct guest_task *a, const struct guest_task *b)
{
	const hr_u64 *x = (const void *)a->comm, *y = (const void *)b->comm;

	return a->address == b->address && a->tid == b->tid && x[0] == y[0] && x[1] == y[1];
}

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
	s->guest = *t;
	return true;
}

/* The kernel of this thread's VM; a vCPU's slot is looked up once, while KVM has the vCPU loaded. */
static __always_inline struct guest_kernel *guest_kernel_of(struct emit *e, struct thread_state *s,
							    struct kvm_vcpu *vcpu)
{
	struct guest_kernel *k;
	hr_u32 number;

	if (!s->guest_kernel) {
		struct vm_settings *vm = bpf_map_lookup_elem(&vms, &e->pid);

		s->guest_kernel = vm && vm->guest_kernel ? vm->guest_kernel : GUEST_KERNEL_NONE;
	}
	number = s->guest_kernel - 1;
	k = bpf_map_lookup_elem(&guest_kernels, &number);
	if (!k)
		return NULL;
	if (s->guest_epoch != k->epoch || !s->guest_slot) {
		hr_u32 epoch = k->epoch, id;

		s->guest_slot = 0;
		if (!vcpu || !epoch)
			return k;
		id = BPF_CORE_READ(vcpu, vcpu_id);
		if (id < GUEST_CPUS_MAX) {
			s->guest_cpu = k->slot[id].cpu;
			s->guest_slot = k->slot[id].at;
		}
		s->guest_epoch = epoch;
	}
	return k;
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
	k = guest_kernel_of(e, s, vcpu);
	if (!k)
		return true;
	/* a kernel does not leave long mode: the VM was reset, or begins to run a CPU */
	if (vcpu && s->guest_slot && !(BPF_CORE_READ(vcpu, arch.efer) & GUEST_EFER_LMA))
		k->reset_epoch = s->guest_epoch;
	if (s->guest_slot && k->reset_epoch != s->guest_epoch)
		bpf_probe_read_user(&t.address, sizeof(t.address), (void *)s->guest_slot);
	if (t.address == s->guest.address && (!t.address || ++s->guest_looks % GUEST_NAME_LOOKS))
		return true;
	if (t.address && !guest_task_read(k, s->guest_cpu, &t))
		t = (struct guest_task){0};
	return guest_task_same(&t, &s->guest) || guest_task_write(e, s, &t);
}

/* To be called before the record of an exit is reserved. False: it is lost, and counted. */
static __always_inline bool guest_task_note(struct emit *e, hr_u16 type)
{
	if (!guest_tasks || e->vcpu == RECORD_NO_VCPU || guest_task_look(e))
		return true;
	__sync_fetch_and_add(&((struct ring_head *)(void *)e->ring)->lost[type], 1);
	return false;
}

/* As record_begin(), for events that are attributed to the guest's task. */
#define record_begin_task(e, name)                                                                 \
	(emit_begin(e) && guest_task_note(e, EV_##name) ? reserve(e, name) : NULL)

#endif
