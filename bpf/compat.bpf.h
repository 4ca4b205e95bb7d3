/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Differences between kernels, detected by the fields they have, never by version. Each with its
 * reason.
 */
#ifndef HOSTRACE_COMPAT_BPF_H
#define HOSTRACE_COMPAT_BPF_H

#include "kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Before v5.16 a thread's CPU was in task_struct itself on x86, not in its thread_info. */
struct task_struct___cpu {
	hr_u32 cpu;
};

/* In v7.3 the instruction pointer is no longer one of regs[], and the mask is an array. */
struct kvm_vcpu_arch___rip {
	unsigned long rip;
	unsigned long regs_avail[1];
};

struct kvm_vcpu___rip {
	struct kvm_vcpu_arch___rip arch;
};

/* arm64's vCPU. What its virtual counter is behind the host's is, since v6.4, one value of the VM. */
struct user_pt_regs___arm64 {
	hr_u64 pc;
};

struct kvm_cpu_context___arm64 {
	struct user_pt_regs___arm64 regs;
	hr_u64 sys_regs[1];
};

struct kvm_vcpu_arch___arm64 {
	struct kvm_cpu_context___arm64 ctxt;
};

struct kvm_vcpu___arm64 {
	struct kvm_vcpu_arch___arm64 arch;
};

struct arch_timer_vm_data {
	hr_u64 voffset;
};

struct kvm_arch___arm64 {
	struct arch_timer_vm_data timer_data;
};

struct kvm___arm64 {
	struct kvm_arch___arm64 arch;
};

enum vcpu_sysreg___arm64 {
	CNTVOFF_EL2___arm64 = 1,
};

#pragma clang attribute pop

/* This thread's first preempt notifier, that of its vCPU; 0 if none or if the kernel was built without KVM. */
static __always_inline hr_u64 task_vcpu_node(struct task_struct *p)
{
	if (bpf_core_type_exists(struct kvm_vcpu) && bpf_core_field_exists(p->preempt_notifiers))
		return (hr_u64)p->preempt_notifiers.first;
	return 0;
}

static __always_inline hr_u32 task_cpu(struct task_struct *p)
{
	struct task_struct___cpu *old = (void *)p;

	if (bpf_core_field_exists(p->thread_info.cpu))
		return BPF_CORE_READ(p, thread_info.cpu);
	if (bpf_core_field_exists(old->cpu))
		return BPF_CORE_READ(old, cpu);
	return 0;
}

/*
 * arm64: what is to be added to the host's CNTVCT_EL0. Where a kernel has no type of a name at all, as x86 has no
 * vcpu_sysreg, libbpf looks for it in the kernel's modules, which needs CAP_SYS_ADMIN.
 */
static __always_inline hr_u64 vcpu_counter_offset(struct kvm_vcpu *v)
{
#ifdef __TARGET_ARCH_arm64
	struct kvm_vcpu___arm64 *vcpu = (void *)v;
	struct kvm___arm64 *kvm = (void *)BPF_CORE_READ(v, kvm);
	hr_u64 behind = 0;

	if (bpf_core_field_exists(kvm->arch.timer_data.voffset))
		return -BPF_CORE_READ(kvm, arch.timer_data.voffset);
	if (bpf_core_enum_value_exists(enum vcpu_sysreg___arm64, CNTVOFF_EL2___arm64) &&
	    bpf_core_field_exists(vcpu->arch.ctxt.sys_regs))
		bpf_probe_read_kernel(
			&behind, sizeof(behind),
			(void *)vcpu + bpf_core_field_offset(vcpu->arch.ctxt.sys_regs) +
				8 * bpf_core_enum_value(enum vcpu_sysreg___arm64,
							CNTVOFF_EL2___arm64));
	return -behind;
#else
	(void)v;
	return 0;
#endif
}

/* Before v5.14 KVM stored only the values of what runs now, the guest (L1) or the guest's guest (L2). */
static __always_inline hr_u64 vcpu_l1_tsc_offset(struct kvm_vcpu *v)
{
	if (bpf_core_field_exists(v->arch.l1_tsc_offset))
		return BPF_CORE_READ(v, arch.l1_tsc_offset);
	if (bpf_core_field_exists(v->arch.tsc_offset))
		return BPF_CORE_READ(v, arch.tsc_offset);
	return vcpu_counter_offset(v);
}

static __always_inline hr_u64 vcpu_l1_tsc_ratio(struct kvm_vcpu *v)
{
	if (bpf_core_field_exists(v->arch.l1_tsc_scaling_ratio))
		return BPF_CORE_READ(v, arch.l1_tsc_scaling_ratio);
	if (bpf_core_field_exists(v->arch.tsc_scaling_ratio))
		return BPF_CORE_READ(v, arch.tsc_scaling_ratio);
	return 0;
}

/* The size of the ratio determines its fixed point: 48 fractional bits on VMX, 32 on SVM; 1 is none. */
static __always_inline hr_u32 tsc_ratio_bits(hr_u64 ratio)
{
	if (ratio >> 40)
		return 48;
	return ratio >> 24 ? 32 : 0;
}

/* The id of a thread in its own PID namespace. */
static __always_inline hr_u32 task_ns_tid(struct task_struct *p)
{
	struct pid *pid = BPF_CORE_READ(p, thread_pid);
	hr_u32 level = BPF_CORE_READ(pid, level);
	int nr = 0;

	bpf_core_read(&nr, sizeof(nr),
		      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			      (hr_u64)level * bpf_core_type_size(struct upid) +
			      bpf_core_field_offset(struct upid, nr));
	return (hr_u32)nr;
}

enum { VCPU_REGS_RIP = 16 }; /* arch/x86/include/asm/kvm_host.h */

/* The instruction pointer that KVM has, of a tracepoint's argument. VMX: it may be that of an earlier exit. */
static __always_inline hr_u64 vcpu_rip_any(struct kvm_vcpu *vcpu)
{
	struct kvm_vcpu___rip *newer = (void *)vcpu;

	if (bpf_core_field_exists(newer->arch.rip))
		return newer->arch.rip;
	return vcpu->arch.regs[VCPU_REGS_RIP];
}

/* 0 where KVM has not fetched it from the hardware (VMX reads it when it is first requested). */
static __always_inline hr_u64 vcpu_rip(struct kvm_vcpu *vcpu)
{
	struct kvm_vcpu___rip *newer = (void *)vcpu;
	hr_u64 available;

	if (bpf_core_field_exists(newer->arch.rip))
		available = newer->arch.regs_avail[0];
	else
		available = vcpu->arch.regs_avail;
	return available >> VCPU_REGS_RIP & 1 ? vcpu_rip_any(vcpu) : 0;
}

/* The same of any vCPU; false: it is not known. */
static __always_inline bool vcpu_rip_read(struct kvm_vcpu *vcpu, hr_u64 *ret)
{
	struct kvm_vcpu___rip *newer = (void *)vcpu;
	struct kvm_vcpu___arm64 *arm64 = (void *)vcpu;
	hr_u64 available;

	if (bpf_core_field_exists(arm64->arch.ctxt.regs.pc)) {
		*ret = BPF_CORE_READ(arm64, arch.ctxt.regs.pc);
		return true;
	}
	if (bpf_core_field_exists(newer->arch.rip)) {
		available = BPF_CORE_READ(newer, arch.regs_avail[0]);
		*ret = BPF_CORE_READ(newer, arch.rip);
	} else {
		available = BPF_CORE_READ(vcpu, arch.regs_avail);
		*ret = BPF_CORE_READ(vcpu, arch.regs[VCPU_REGS_RIP]);
	}
	return available >> VCPU_REGS_RIP & 1;
}

/* The description of an exit by AMD's CPU. */
struct svm_exit {
	hr_u64 code, info1, info2;
};

/*
 * The VMCB of what ran last, the guest or its guest (vmcb02). Kernels declare exit_code with 32 or 64 bits at the same
 * offset, which the CPU defines. Codes have 32 bits, VMEXIT_INVALID is -1 in both.
 */
static __always_inline void vcpu_svm_exit(struct kvm_vcpu *vcpu, struct svm_exit *ret)
{
	struct vcpu_svm *svm = (void *)vcpu - bpf_core_field_offset(struct vcpu_svm, vcpu);
	struct vmcb *vmcb = BPF_CORE_READ(svm, vmcb);

	bpf_core_read(ret, sizeof(*ret), &vmcb->control.exit_code);
}

static __always_inline hr_u32 vcpu_svm_reason(struct kvm_vcpu *vcpu)
{
	struct vcpu_svm *svm = (void *)vcpu - bpf_core_field_offset(struct vcpu_svm, vcpu);

	return (hr_u32)BPF_CORE_READ(svm, vmcb, control.exit_code);
}

/* Intel: KVM has read the reason when it fires kvm_exit. In v6.16 it moved to the structure that VMX and TDX share. */
static __always_inline hr_u32 vcpu_vmx_reason(struct kvm_vcpu *vcpu)
{
	struct vcpu_vmx___shared *shared =
		(void *)vcpu - bpf_core_field_offset(struct vcpu_vmx, vcpu);
	struct vcpu_vmx *vmx = (void *)shared;
	hr_u32 reason = 0;

	if (bpf_core_field_exists(shared->vt))
		bpf_core_read(&reason, sizeof(reason), &shared->vt.exit_reason);
	else
		bpf_core_read(&reason, sizeof(reason), &vmx->exit_reason);
	return reason;
}

#endif
