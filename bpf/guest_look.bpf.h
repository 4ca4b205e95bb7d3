/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which task of a Linux guest a vCPU runs, read from the guest's memory in the vCPU's own thread, where the VMM has it
 * mapped, without faulting (guest_task.h).
 *
 * The usual exit costs one read, of the pointer to the current task. A task's name changes with execve(), which
 * the pointer does not show: it is read again every GUEST_NAME_LOOKS exits.
 */
#ifndef HOSTRACE_GUEST_LOOK_BPF_H
#define HOSTRACE_GUEST_LOOK_BPF_H

#include "emit.bpf.h"

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

/* Finds the vCPU's slot once, while KVM has the vCPU loaded; NULL: it has not. */
static __always_inline void guest_slot_find(struct guest_kernel *k, struct guest_look *g,
					    struct kvm_vcpu *vcpu)
{
	hr_u32 epoch = k->epoch, id;

	if (g->epoch != epoch || !g->slot) {
		g->slot = 0;
		if (!vcpu || !epoch)
			return;
		id = BPF_CORE_READ(vcpu, vcpu_id);
		if (id < GUEST_CPUS_MAX) {
			g->cpu = k->slot[id].cpu;
			g->slot = k->slot[id].at;
		}
		g->epoch = epoch;
	}
	/* a kernel does not leave long mode: the VM was reset, or begins to run a CPU */
	if (vcpu && g->slot && !(BPF_CORE_READ(vcpu, arch.efer) & GUEST_EFER_LMA))
		k->reset_epoch = g->epoch;
}

/* Reads the current task; *t is zero before. False: it is still g->task. */
static __always_inline bool guest_task_changed(const struct guest_kernel *k, struct guest_look *g,
					       struct guest_task *t)
{
	if (g->slot && k->reset_epoch != g->epoch)
		bpf_probe_read_user(&t->address, sizeof(t->address), (void *)g->slot);
	if (t->address == g->task.address && (!t->address || ++g->looks % GUEST_NAME_LOOKS))
		return false;
	if (t->address && !guest_task_read(k, g->cpu, t))
		*t = (struct guest_task){0};
	return !guest_task_same(t, &g->task);
}

#endif
