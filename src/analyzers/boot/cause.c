// SPDX-License-Identifier: GPL-2.0-or-later
/* What a thread does, for the report of a boot: the states of model/threads.h by names. */
#include "analyzers/boot/internal.h"
#include "syscalls.h"

const char *const boot_cause_names[BOOT_CAUSES] = {
	[BOOT_GUEST] = "guest",	    [BOOT_KVM] = "kvm",	      [BOOT_VMM_RUN] = "vmm",
	[BOOT_SYSCALL] = "syscall", [BOOT_HALTED] = "halted", [BOOT_DISK] = "disk",
	[BOOT_FAULT] = "fault",	    [BOOT_CPU] = "cpu",	      [BOOT_BQL] = "bql",
	[BOOT_LOCK] = "lock",	    [BOOT_POLL] = "poll",     [BOOT_STOPPED] = "stopped",
	[BOOT_UNKNOWN] = "unknown",
};

enum { KVM_IOCTL_TYPE = 0xae };

static bool is_kvm_request(int64_t call, uint64_t request)
{
	return syscall_is_ioctl((uint64_t)call) && (request >> 8 & 0xff) == KVM_IOCTL_TYPE;
}

static enum boot_cause sleep_cause(const struct model *m, const struct model_thread *t,
				   int64_t in_call, uint64_t request)
{
	int64_t call = t->block.known ? t->block.syscall : in_call;

	if (t->stopped)
		return BOOT_STOPPED;
	if (model_sleeps_halted(m, t))
		return BOOT_HALTED;
	if (is_kvm_request(call, t->block.known ? t->block.arg1 : request))
		return thread_left_in_kvm_run(t) && !t->interruptible ? BOOT_FAULT : BOOT_KVM;
	if (syscall_is_futex((uint64_t)call))
		return t->block.known && t->block.is_global ? BOOT_BQL : BOOT_LOCK;
	if (call < 0)
		return t->interruptible ? BOOT_UNKNOWN : BOOT_FAULT;
	if (syscall_polls((hr_u64)call))
		return BOOT_POLL;
	return t->interruptible ? BOOT_SYSCALL : BOOT_DISK;
}

static enum boot_cause running_cause(const struct model *m, const struct model_thread *t,
				     int64_t in_call, uint64_t request)
{
	const struct vcpu_place *p = &t->place;

	if (p->is_seen && !model_place_known(m, t, t->cpu, t->since_ns))
		return BOOT_UNKNOWN;
	if (p->is_seen && !p->in_vmm)
		return p->in_exit ? BOOT_KVM : BOOT_GUEST;
	if (is_kvm_request(in_call, request))
		return BOOT_KVM;
	return in_call < 0 ? BOOT_VMM_RUN : BOOT_SYSCALL;
}

enum boot_cause boot_thread_cause(const struct model *m, const struct model_thread *t,
				  int64_t in_call, uint64_t request)
{
	switch (t->state) {
	case THREAD_RUNNING:
		return running_cause(m, t, in_call, request);
	case THREAD_PREEMPTED:
	case THREAD_WOKEN:
		return BOOT_CPU;
	case THREAD_ASLEEP:
		return sleep_cause(m, t, in_call, request);
	default:
		return BOOT_UNKNOWN;
	}
}
