/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * top, exporter: for how long a vCPU's thread was stopped (SIGSTOP, a debugger, a freezer), or waited in the VMM until
 * it may run again: it sleeps on a condition variable then, and no thread of a VM that runs does, as KVM handles
 * halts. QEMU does so for `stop`, errors, and at the end of a migration.
 *
 * All of it begins with a return from KVM_RUN, also for a vCPU that has had no exit since it is watched: whose thread
 * that is, is then known by the descriptor of the system call.
 */
#ifndef HOSTRACE_STAT_STILL_BPF_H
#define HOSTRACE_STAT_STILL_BPF_H

#include "stat_slots.bpf.h"
#include "stat_vcpu.bpf.h"

enum {
	STILL_FUTEX_CMD =
		0x7f, /* linux/futex.h: without FUTEX_PRIVATE_FLAG and FUTEX_CLOCK_REALTIME */
	STILL_FUTEX_WAIT_BITSET = 9, /* glibc: of condition variables; mutexes use FUTEX_WAIT */
	/* linux/sched.h */
	STILL_TASK_STOPPED = 0x4,
	STILL_TASK_TRACED = 0x8,
	STILL_TASK_FROZEN = 0x8000, /* since v6.1 */
	STILL_EXIT_HLT = 5,	    /* KVM_EXIT_HLT: the VMM has the local APICs, too */
};

/* In KVM_RUN, whose first argument is the vCPU's descriptor. */
static __always_inline struct kvm_vcpu *vcpu_of_call(struct task_struct *task)
{
	hr_u32 fd = (hr_u32)SYSCALL_ARG1(task_regs_of(task));
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file *file = NULL;

	if (!table || fd >= BPF_CORE_READ(table, max_fds))
		return NULL;
	bpf_probe_read_kernel(&file, sizeof(file), BPF_CORE_READ(table, fd) + fd);
	return file ? BPF_CORE_READ(file, private_data) : NULL;
}

/* KVM_RUN of the current thread returns. */
static __always_inline void still_left(const struct stat_vm *vm, struct stat_thread *thread,
				       hr_u32 reason)
{
	struct kvm_vcpu *vcpu;
	struct stat_vcpu *v;
	hr_u32 slot;

	thread->halts_in_vmm = reason == STILL_EXIT_HLT;
	if (thread->slot || !bpf_core_type_exists(struct kvm_vcpu))
		return;
	vcpu = vcpu_of_call(bpf_get_current_task_btf());
	v = vcpu ? stat_vcpu(vm, BPF_CORE_READ(vcpu, vcpu_idx), &slot) : NULL;
	if (!v)
		return;
	thread->slot = slot + 1;
	v->tid = bpf_get_current_pid_tgid();
}

/* With a timeout it waits for time to pass: QEMU slows vCPUs for a migration so (auto-converge), and the VM runs. */
static __always_inline bool waits_for_condition(struct task_struct *task)
{
	const struct task_regs *regs = task_regs_of(task);

	return syscall_nr(regs) == SYSCALL_FUTEX &&
	       (SYSCALL_ARG2(regs) & STILL_FUTEX_CMD) == STILL_FUTEX_WAIT_BITSET &&
	       !SYSCALL_ARG4(regs);
}

static __always_inline bool is_frozen(struct task_struct *task, unsigned int state)
{
	if (state & STILL_TASK_FROZEN)
		return true;
	return bpf_core_field_exists(task->frozen) && BPF_CORE_READ_BITFIELD_PROBED(task, frozen);
}

/* Switched out with this state, not runnable. */
static __always_inline void still_begin(struct stat_vcpu *v, const struct stat_thread *thread,
					struct task_struct *task, unsigned int state)
{
	hr_u8 still = STAT_MOVES;

	if (state & (STILL_TASK_STOPPED | STILL_TASK_TRACED) || is_frozen(task, state))
		still = STAT_STOPPED;
	else if (!task_vcpu_node(task) && !thread->halts_in_vmm && waits_for_condition(task))
		still = STAT_PAUSED;
	v->still_since_ns = bpf_ktime_get_ns();
	barrier();
	v->still = still;
}

static __always_inline void still_end(struct stat_vcpu *v)
{
	hr_u64 still = v->still;

	unknown(still);
	if (still == STAT_MOVES || still >= STAT_STILLS)
		return;
	v->still = STAT_MOVES;
	barrier();
	v->still_ns[still] += bpf_ktime_get_ns() - v->still_since_ns;
}

#endif
