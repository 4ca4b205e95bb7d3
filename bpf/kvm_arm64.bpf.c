// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tracepoints of KVM that have other arguments on arm64 (arch/arm64/kvm/trace_arm.h); signatures are those of v6.1 to
 * v7.3. They name no vCPU: it is that of the thread's preempt notifier, as for all events.
 */
#include "guest_task.bpf.h"

/* Those of EXIT_ARM64_RET in src/event/exit_reason.h. */
enum { ARM64_TRAP = 2, ARM64_HVC_STUB_ERR = 0xbadca11, ARM64_HYP_GONE = 0x1ff, ARM64_RET = 0x100 };
enum { ISA_ARM64 = 0xaa64, ARM64_SERROR_PENDING = 1u << 31 };

static __always_inline hr_u32 reason_of(hr_u32 ret, hr_u32 esr_ec)
{
	ret &= ~ARM64_SERROR_PENDING;
	if (ret == ARM64_TRAP)
		return esr_ec;
	return ret == ARM64_HVC_STUB_ERR ? ARM64_HYP_GONE : ARM64_RET + ret;
}

SEC("tp_btf/kvm_exit")
int BPF_PROG(tp_kvm_exit_arm64, int ret, unsigned int esr_ec, unsigned long vcpu_pc)
{
	struct emit e;
	struct rec_kvm_exit *rec = record_begin_task(&e, kvm_exit);

	if (!rec)
		return 0;
	rec->rip = vcpu_pc;
	rec->info1 = 0;
	rec->info2 = 0;
	rec->reason = reason_of(ret, esr_ec);
	rec->isa = ISA_ARM64;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_entry")
int BPF_PROG(tp_kvm_entry_arm64, unsigned long vcpu_pc)
{
	struct emit e;
	struct rec_kvm_entry *rec = record_begin(&e, kvm_entry);

	if (!rec)
		return 0;
	rec->rip = vcpu_pc;
	emit_publish(&e);
	return 0;
}

/*
 * KVM_RUN begins: arm64 has no tracepoint there, and kvm_fpu is x86's. The preempt notifier is not there yet, so that a
 * thread's first call has no vCPU.
 */
SEC("kprobe/kvm_arch_vcpu_ioctl_run")
int kp_kvm_run_arm64(void *ctx)
{
	struct emit e;

	if (record_begin(&e, kvm_run))
		emit_publish(&e);
	return 0;
}
