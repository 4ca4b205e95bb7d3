/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stat.bpf.c knows of the VMs that it watches, their vCPUs and the threads that run these. */
#ifndef HOSTRACE_STAT_VCPU_BPF_H
#define HOSTRACE_STAT_VCPU_BPF_H

#include "guest_look.bpf.h"
#include "statmap.h"

const volatile hr_u32 stat_cells = 2;	  /* per vCPU, set before loading */
const volatile bool stat_details = false; /* causes, ports, since when an exit is open */
const volatile hr_u32 stat_recorder = 0;  /* our process */
const volatile bool stat_tasks = false;	  /* guest tasks; only with details */
hr_u64 stat_missed = 0;			  /* exits of vCPUs not in the map: hot-plugged later */

hr_u64 stat_unwatched = 0;		  /* exits of VMs that are not in stat_vms */

/* Processes that ran vCPUs that are not in the map, at their number modulo the size; 0: none. */
hr_u32 stat_strangers[STAT_STRANGERS] = {};

/* The real value size is set before loading: struct stat_vcpu and its cells. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(hr_u32));
	__uint(value_size, sizeof(struct stat_vcpu) + 2 * sizeof(struct stat_cell));
	__uint(map_flags, BPF_F_MMAPABLE);
} stat_vcpus SEC(".maps");

/* Unless there is only_pid, whose vCPUs are all in the array: the VMs by process id. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, STAT_VMS_MAX);
	__type(key, hr_u32);
	__type(value, struct stat_vm);
} stat_vms SEC(".maps");

/* State of a thread that runs a vCPU. */
struct stat_thread {
	hr_u64 left_ns;
	hr_u32 reason;
	hr_u32 slot; /* in stat_vcpus, + 1 */
	hr_u8 open;
	hr_u8 delay_known;
	hr_u8 halts_in_vmm; /* KVM_RUN has returned for a halt */
	hr_u64 delay_ns; /* how long it has waited for CPUs, as far as that is counted */
	hr_u64 thief;	 /* the cgroup of the task that ran on its CPU until it did */
	struct guest_look guest;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct stat_thread);
} stat_threads SEC(".maps");

static __always_inline struct stat_thread *stat_thread_of(struct task_struct *task, bool create)
{
	return bpf_task_storage_get(&stat_threads, task, NULL,
				    create ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
}

static __always_inline struct stat_thread *stat_thread(bool create)
{
	return stat_thread_of(bpf_get_current_task_btf(), create);
}

static __always_inline void stat_stranger(hr_u32 pid)
{
	if (!only_pid)
		stat_strangers[pid % STAT_STRANGERS] = pid;
}

/* Is it the process of a VM that is watched? Where its vCPUs are. */
static __always_inline bool stat_vm_find(hr_u32 pid, struct stat_vm *vm)
{
	struct stat_vm *found;

	vm->first = 0;
	vm->nr = ~0u;
	vm->guest_kernel = 1;
	if (only_pid)
		return pid == only_pid;
	found = bpf_map_lookup_elem(&stat_vms, &pid);
	if (!found)
		return false;
	*vm = *found;
	return true;
}

static __always_inline bool stat_traced(hr_u64 id)
{
	struct stat_vm vm;

	return stat_vm_find(id >> 32, &vm);
}

/* The same of the current process, which runs a vCPU. */
static __always_inline bool stat_vm_here(struct stat_vm *vm)
{
	hr_u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (stat_vm_find(pid, vm))
		return true;
	stat_stranger(pid);
	return false;
}

/* At an exit: that of a VM which is not watched is counted. */
static __always_inline bool stat_exit_here(struct stat_vm *vm)
{
	if (stat_vm_here(vm))
		return true;
	if (!only_pid)
		__sync_fetch_and_add(&stat_unwatched, 1);
	return false;
}

static __always_inline struct stat_vcpu *stat_vcpu(const struct stat_vm *vm, hr_u32 index,
						   hr_u32 *slot)
{
	struct stat_vcpu *v = NULL;

	*slot = vm->first + index;
	if (index < vm->nr)
		v = bpf_map_lookup_elem(&stat_vcpus, slot);
	if (!v) {
		__sync_fetch_and_add(&stat_missed, 1);
		stat_stranger(bpf_get_current_pid_tgid() >> 32);
	}
	return v;
}

/* Of any thread of this VM: it is in KVM_RUN, or was seen to run a vCPU. */
static __always_inline struct stat_vcpu *stat_vcpu_in_kvm(const struct stat_vm *vm,
							  struct task_struct *task)
{
	hr_u64 node = task_vcpu_node(task);
	struct stat_thread *thread;
	hr_u32 slot;

	if (node && bpf_core_type_exists(struct kvm_vcpu)) {
		slot = BPF_CORE_READ(vcpu_of_node(node), vcpu_idx);
		if (slot >= vm->nr)
			return NULL;
		slot += vm->first;
	} else {
		thread = stat_thread_of(task, false);
		if (!thread || !thread->slot)
			return NULL;
		slot = thread->slot - 1;
	}
	return bpf_map_lookup_elem(&stat_vcpus, &slot);
}

/* Of a thread that was seen to run a vCPU. */
static __always_inline struct stat_vcpu *stat_vcpu_of(const struct stat_thread *thread)
{
	hr_u32 slot;

	if (!thread || !thread->slot)
		return NULL;
	slot = thread->slot - 1;
	return bpf_map_lookup_elem(&stat_vcpus, &slot);
}

#endif
