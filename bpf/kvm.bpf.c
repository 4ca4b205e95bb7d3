// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * KVM's tracepoints. tp_btf programs get the tracepoint's own arguments, which is cheapest; where
 * these are not sufficient the formatted record is read instead (tp/kvm/..., several times as
 * expensive). Signatures are those of v6.1 to v7.3; the collector skips programs that the running
 * kernel rejects.
 *
 * Pointers are compared with NULL: if KVM is a module, newer kernels (v6.13, also 6.12.95 of Debian)
 * reject programs that do not.
 *
 * Interrupts raised by threads outside QEMU (the kernel's vhost workers) cannot be attributed to a
 * VM and are not recorded.
 */
#include "guest_task.bpf.h"

SEC("tp/kvm/kvm_exit")
int tp_kvm_exit(struct trace_event_raw_kvm_exit *ctx)
{
	struct emit e;
	struct rec_kvm_exit *rec = record_begin_task(&e, kvm_exit);

	if (!rec)
		return PERF_SEES_IT_TOO;
	rec->rip = ctx->guest_rip;
	rec->info1 = ctx->info1;
	rec->info2 = ctx->info2;
	rec->reason = ctx->exit_reason;
	rec->isa = ctx->isa;
	emit_publish(&e);
	return PERF_SEES_IT_TOO;
}

/*
 * The same for AMD, from the tracepoint's own argument: all fields of the formatted record are in memory (the exit
 * handler copies the instruction pointer out of the VMCB). On Intel the CPU holds it until a VMREAD, which only
 * the kernel can execute: there only the formatted record is complete.
 */
SEC("tp_btf/kvm_exit")
int BPF_PROG(tp_kvm_exit_svm, struct kvm_vcpu *vcpu, hr_u32 isa)
{
	struct emit e;
	struct rec_kvm_exit *rec = record_begin_task(&e, kvm_exit);
	struct svm_exit exit;

	if (!rec || !vcpu)
		return 0;
	vcpu_svm_exit(vcpu, &exit);
	rec->rip = vcpu_rip_any(vcpu);
	rec->info1 = exit.info1;
	rec->info2 = exit.info2;
	rec->reason = (hr_u32)exit.code;
	rec->isa = isa;
	emit_publish(&e);
	return 0;
}

/* Intel, record --exit-reasons: what KVM itself has read when it fires the tracepoint. */
SEC("tp_btf/kvm_exit")
int BPF_PROG(tp_kvm_exit_vmx, struct kvm_vcpu *vcpu, hr_u32 isa)
{
	struct emit e;
	struct rec_kvm_exit *rec = record_begin_task(&e, kvm_exit);

	if (!rec || !vcpu)
		return 0;
	rec->rip = 0;
	rec->info1 = 0;
	rec->info2 = 0;
	rec->reason = vcpu_vmx_reason(vcpu);
	rec->isa = isa;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_entry")
int BPF_PROG(tp_kvm_entry, struct kvm_vcpu *vcpu)
{
	struct emit e;
	struct rec_kvm_entry *rec = record_begin(&e, kvm_entry);

	if (!rec || !vcpu)
		return 0;
	rec->rip = vcpu_rip(vcpu);
	emit_publish(&e);
	return 0;
}

/* For kernels on which the tracepoint's argument cannot be read. */
SEC("tp/kvm/kvm_entry")
int tp_kvm_entry_formatted(struct trace_event_raw_kvm_entry *ctx)
{
	struct emit e;
	struct rec_kvm_entry *rec = record_begin(&e, kvm_entry);

	if (!rec)
		return PERF_SEES_IT_TOO;
	rec->rip = bpf_core_field_exists(ctx->rip) ? ctx->rip : 0;
	emit_publish(&e);
	return PERF_SEES_IT_TOO;
}

/* ---- guests of the guest ---- */

SEC("tp/kvm/kvm_nested_vmexit")
int tp_kvm_nested_vmexit(struct trace_event_raw_kvm_nested_vmexit *ctx)
{
	struct emit e;
	struct rec_kvm_nested_vmexit *rec = record_begin(&e, kvm_nested_vmexit);

	if (!rec)
		return PERF_SEES_IT_TOO;
	rec->rip = ctx->guest_rip;
	rec->reason = ctx->exit_reason;
	rec->isa = ctx->isa;
	emit_publish(&e);
	return PERF_SEES_IT_TOO;
}

/* As tp_kvm_exit_svm. */
SEC("tp_btf/kvm_nested_vmexit")
int BPF_PROG(tp_kvm_nested_vmexit_svm, struct kvm_vcpu *vcpu, hr_u32 isa)
{
	struct emit e;
	struct rec_kvm_nested_vmexit *rec = record_begin(&e, kvm_nested_vmexit);

	if (!rec || !vcpu)
		return 0;
	rec->rip = vcpu_rip_any(vcpu);
	rec->reason = vcpu_svm_reason(vcpu);
	rec->isa = isa;
	emit_publish(&e);
	return 0;
}

/* Kernels declare exit_code with 32 or 64 bits, see vcpu_svm_exit(). */
SEC("tp_btf/kvm_nested_vmexit_inject")
int BPF_PROG(tp_kvm_nested_vmexit_inject, hr_u32 exit_code, hr_u64 info1, hr_u64 info2,
	     hr_u32 int_info, hr_u32 int_error, hr_u32 isa)
{
	struct emit e;
	struct rec_kvm_nested_vmexit_inject *rec = record_begin(&e, kvm_nested_vmexit_inject);

	if (!rec)
		return 0;
	rec->info1 = info1;
	rec->info2 = info2;
	rec->reason = exit_code;
	rec->isa = isa;
	rec->int_info = int_info;
	rec->int_error = int_error;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_userspace_exit")
int BPF_PROG(tp_kvm_userspace_exit, hr_u32 reason, int error)
{
	struct emit e;
	struct rec_kvm_userspace_exit *rec = record_begin_task(&e, kvm_userspace_exit);

	if (!rec)
		return 0;
	rec->reason = reason;
	rec->error = error;
	emit_publish(&e);
	return 0;
}

/*
 * KVM_RUN begins: the guest's FPU state is loaded once per KVM_RUN, right after the vCPU
 * (kvm_arch_vcpu_ioctl_run()). An fentry program on that function would be simpler, but not
 * every kernel supports tracing functions.
 */
SEC("tp_btf/kvm_fpu")
int BPF_PROG(tp_kvm_run, int load)
{
	struct emit e;

	if (load && record_begin(&e, kvm_run))
		emit_publish(&e);
	return 0;
}

/*
 * Reads up to 8 little-endian bytes of kernel memory. The length is one variable, with its bound where the verifier
 * sees it: clang 19 makes one call of several with a constant length each, without a bound.
 */
static __always_inline hr_u64 kernel_le(const void *from, hr_u32 len)
{
	hr_u64 value = 0, size = len == 1 || len == 2 || len == 4 ? len : 8;

	barrier_var(size);
	if (size <= sizeof(value))
		bpf_probe_read_kernel(&value, size, from);
	return value;
}

/* raw_tp: at least up to 6.1 the verifier rejects `const void *` ("type UNKNOWN is not a struct"). */
SEC("raw_tp/kvm_pio")
int BPF_PROG(tp_kvm_pio, unsigned int rw, unsigned int port, unsigned int size, unsigned int count,
	     const void *data)
{
	struct emit e;
	struct rec_kvm_pio *rec = record_begin_task(&e, kvm_pio);

	if (!rec)
		return 0;
	rec->port = port;
	rec->count = count;
	rec->val = kernel_le(data, size < 4 ? size : 4);
	rec->size = size;
	rec->write = rw != 0;
	emit_publish(&e);
	return 0;
}

enum { KVM_TRACE_MMIO_READ_UNSATISFIED = 0 }; /* include/trace/events/kvm.h */

SEC("tp_btf/kvm_mmio")
int BPF_PROG(tp_kvm_mmio, int type, int len, hr_u64 gpa, void *val)
{
	struct emit e;
	struct rec_kvm_mmio *rec = record_begin_task(&e, kvm_mmio);

	if (!rec)
		return 0;
	rec->gpa = gpa;
	rec->val = type == KVM_TRACE_MMIO_READ_UNSATISFIED || !val ? 0 : kernel_le(val, len);
	rec->size = len;
	rec->type = type;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_msr")
int BPF_PROG(tp_kvm_msr, unsigned int write, hr_u32 msr, hr_u64 val, bool fault)
{
	struct emit e;
	struct rec_kvm_msr *rec = record_begin_task(&e, kvm_msr);

	if (!rec)
		return 0;
	rec->val = val;
	rec->msr = msr;
	rec->write = write != 0;
	rec->fault = fault;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_hypercall")
int BPF_PROG(tp_kvm_hypercall, unsigned long nr, unsigned long a0, unsigned long a1)
{
	struct emit e;
	struct rec_kvm_hypercall *rec = record_begin_task(&e, kvm_hypercall);

	if (!rec)
		return 0;
	rec->nr = nr;
	rec->a0 = a0;
	rec->a1 = a1;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_inj_virq")
int BPF_PROG(tp_kvm_inj_virq, unsigned int vector, bool soft, bool reinjected)
{
	struct emit e;
	struct rec_kvm_inj_virq *rec = record_begin(&e, kvm_inj_virq);

	if (!rec)
		return 0;
	rec->vector = vector;
	rec->soft = soft;
	rec->reinjected = reinjected;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_set_irq")
int BPF_PROG(tp_kvm_set_irq, unsigned int gsi, int level, int source)
{
	struct emit e;
	struct rec_kvm_set_irq *rec = record_begin(&e, kvm_set_irq);

	if (!rec)
		return 0;
	rec->gsi = gsi;
	rec->level = level;
	rec->source = source;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_msi_set_irq")
int BPF_PROG(tp_kvm_msi_set_irq, hr_u64 address, hr_u64 data)
{
	struct emit e;
	struct rec_kvm_msi_set_irq *rec = record_begin(&e, kvm_msi_set_irq);

	if (!rec)
		return 0;
	rec->address = address;
	rec->data = data;
	emit_publish(&e);
	return 0;
}

/* ---- interrupts: the local APIC ---- */

enum { APIC_MODE_SHIFT = 8, APIC_MODE_MASK = 7 }; /* of the delivery mode as KVM has it */

SEC("tp_btf/kvm_apic_accept_irq")
int BPF_PROG(tp_kvm_apic_accept_irq, hr_u32 apic_id, hr_u16 mode, hr_u16 level, hr_u8 vector)
{
	struct emit e;
	struct rec_kvm_apic_accept_irq *rec = record_begin(&e, kvm_apic_accept_irq);

	if (!rec)
		return 0;
	rec->apic_id = apic_id;
	rec->vector = vector;
	rec->mode = mode >> APIC_MODE_SHIFT & APIC_MODE_MASK;
	rec->level = level != 0;
	emit_publish(&e);
	return 0;
}

/* The guest has handled the interrupt; kvm_pv_eoi: by a bit in its memory, without an exit. */
#define EOI_PROG(name)                                                                             \
	SEC("tp_btf/" #name)                                                                       \
	int BPF_PROG(tp_##name, struct kvm_lapic *apic, int vector)                                \
	{                                                                                          \
		struct emit e;                                                                     \
		struct rec_##name *rec = record_begin(&e, name);                                   \
		if (!rec || !apic)                                                                 \
			return 0;                                                                  \
		rec->apic_id = apic->vcpu->vcpu_id;                                                \
		rec->vector = vector;                                                              \
		emit_publish(&e);                                                                  \
		return 0;                                                                          \
	}

EOI_PROG(kvm_eoi)
EOI_PROG(kvm_pv_eoi)

/* Bits of a redirection entry: Intel's 82093AA data sheet, 3.2.4. */
SEC("tp_btf/kvm_ioapic_set_irq")
int BPF_PROG(tp_kvm_ioapic_set_irq, hr_u64 entry, int pin, bool coalesced)
{
	struct emit e;
	struct rec_kvm_ioapic_set_irq *rec = record_begin(&e, kvm_ioapic_set_irq);

	if (!rec)
		return 0;
	rec->pin = pin;
	rec->vector = entry & 0xff;
	rec->dest = entry >> 56;
	rec->coalesced = coalesced;
	rec->masked = entry >> 16 & 1;
	rec->level = entry >> 15 & 1;
	emit_publish(&e);
	return 0;
}

enum { LVT_TIMER = 0x320, LVT_MODE_PERIODIC = 1 << 17, LVT_MODE_TSC_DEADLINE = 2 << 17 };

/* The local APIC of the vCPU that this thread is, if it has this id; else NULL. */
static __always_inline struct kvm_lapic *own_apic(hr_u32 apic_id)
{
	hr_u64 node = task_vcpu_node(bpf_get_current_task_btf());
	struct kvm_vcpu *vcpu;

	if (!node || !bpf_core_type_exists(struct kvm_lapic))
		return NULL;
	vcpu = vcpu_of_node(node);
	return BPF_CORE_READ(vcpu, vcpu_id) == apic_id ? BPF_CORE_READ(vcpu, arch.apic) : NULL;
}

/*
 * What the timer was set to, before KVM clears it. KVM delivers it in the vCPU's own thread, before the entry. A
 * periodic timer already has its next expiration.
 */
SEC("tp_btf/kvm_apic_accept_irq")
int BPF_PROG(tp_kvm_timer_irq, hr_u32 apic_id, hr_u16 mode, hr_u16 level, hr_u8 vector)
{
	struct emit e;
	struct kvm_lapic *apic = own_apic(apic_id);
	hr_u64 tsc, expiration;
	hr_u32 lvt = 0, timer_mode;

	if (!apic)
		return 0;
	bpf_probe_read_kernel(&lvt, sizeof(lvt), BPF_CORE_READ(apic, regs) + LVT_TIMER);
	tsc = BPF_CORE_READ(apic, lapic_timer.tscdeadline);
	expiration = BPF_CORE_READ(apic, lapic_timer.target_expiration);
	timer_mode = BPF_CORE_READ(apic, lapic_timer.timer_mode);
	if ((lvt & 0xff) != vector || (!tsc && !expiration))
		return 0;

	struct rec_kvm_timer_irq *rec = record_begin(&e, kvm_timer_irq);

	if (!rec)
		return 0;
	rec->deadline_tsc = timer_mode == LVT_MODE_TSC_DEADLINE ? tsc : 0;
	rec->period_ns = timer_mode == LVT_MODE_PERIODIC ?
				 BPF_CORE_READ(apic, lapic_timer.period) :
				 0;
	rec->deadline_ns = rec->deadline_tsc ? 0 : expiration - rec->period_ns;
	rec->vector = vector;
	rec->pending = BPF_CORE_READ(apic, lapic_timer.pending.counter);
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_halt_poll_ns")
int BPF_PROG(tp_kvm_halt_poll_ns, bool grow, unsigned int vcpu_id, unsigned int new_ns,
	     unsigned int old_ns)
{
	struct emit e;
	struct rec_kvm_halt_poll_ns *rec = record_begin(&e, kvm_halt_poll_ns);

	if (!rec)
		return 0;
	rec->new_ns = new_ns;
	rec->old_ns = old_ns;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_vcpu_wakeup")
int BPF_PROG(tp_kvm_vcpu_wakeup, hr_u64 ns, bool waited, bool valid)
{
	struct emit e;
	struct rec_kvm_vcpu_wakeup *rec = record_begin(&e, kvm_vcpu_wakeup);

	if (!rec)
		return 0;
	rec->ns = ns;
	rec->waited = waited;
	rec->valid = valid;
	emit_publish(&e);
	return 0;
}

SEC("tp_btf/kvm_page_fault")
int BPF_PROG(tp_kvm_page_fault, struct kvm_vcpu *vcpu, hr_u64 addr, hr_u64 error)
{
	struct emit e;
	struct rec_kvm_page_fault *rec = record_begin_task(&e, kvm_page_fault);

	if (!rec || !vcpu)
		return 0;
	rec->rip = vcpu_rip(vcpu);
	rec->addr = addr;
	rec->error = error;
	emit_publish(&e);
	return 0;
}

/* Before v6.1 this tracepoint has no vCPU argument; the formatted record has no instruction pointer. */
SEC("tp/kvm/kvm_page_fault")
int tp_kvm_page_fault_formatted(struct trace_event_raw_kvm_page_fault *ctx)
{
	struct emit e;
	struct rec_kvm_page_fault *rec = record_begin_task(&e, kvm_page_fault);

	if (!rec)
		return PERF_SEES_IT_TOO;
	rec->rip = bpf_core_field_exists(ctx->guest_rip) ? ctx->guest_rip : 0;
	rec->addr = ctx->fault_address;
	rec->error = ctx->error_code;
	emit_publish(&e);
	return PERF_SEES_IT_TOO;
}

SEC("tp/kvm/kvm_emulate_insn")
int tp_kvm_emulate_insn(struct trace_event_raw_kvm_emulate_insn *ctx)
{
	struct emit e;
	struct rec_kvm_emulate_insn *rec = record_begin(&e, kvm_emulate_insn);

	if (!rec)
		return PERF_SEES_IT_TOO;
	rec->rip = ctx->rip;
	rec->insn1 = 0;
	bpf_probe_read_kernel(&rec->insn0, 8, &ctx->insn[0]);
	bpf_probe_read_kernel(&rec->insn1, 7, &ctx->insn[8]);
	rec->len = ctx->len;
	rec->failed = ctx->failed;
	emit_publish(&e);
	return PERF_SEES_IT_TOO;
}

/*
 * The tracepoints' vcpu_id is the APIC id: with gaps (3 cores per socket), and in any order where vCPUs are plugged in.
 * It is the vCPU that this thread has loaded, which need not have run yet.
 */
static __always_inline hr_u32 target_vcpu(const struct emit *e, unsigned int vcpu_id)
{
	hr_u64 node = task_vcpu_node(bpf_get_current_task_btf());

	if (node && bpf_core_type_exists(struct kvm_vcpu))
		return BPF_CORE_READ(vcpu_of_node(node), vcpu_idx);
	return e->vcpu == RECORD_NO_VCPU ? vcpu_id : e->vcpu;
}

SEC("tp_btf/kvm_write_tsc_offset")
int BPF_PROG(tp_kvm_write_tsc_offset, unsigned int vcpu_id, hr_u64 old_offset, hr_u64 new_offset)
{
	struct emit e;
	struct rec_kvm_write_tsc_offset *rec = record_begin(&e, kvm_write_tsc_offset);

	if (!rec)
		return 0;
	rec->old = old_offset;
	rec->new = new_offset;
	rec->target = target_vcpu(&e, vcpu_id);
	emit_publish(&e);
	((struct ring_head *)e.ring)->vcpu_tid = 0; /* its next event compares the ratio, too */
	return 0;
}

SEC("tp_btf/kvm_pvclock_update")
int BPF_PROG(tp_kvm_pvclock_update, unsigned int vcpu_id, struct pvclock_vcpu_time_info *page)
{
	struct emit e;
	struct rec_kvm_pvclock_update *rec = record_begin(&e, kvm_pvclock_update);

	if (!rec || !page)
		return 0;
	rec->tsc_timestamp = page->tsc_timestamp;
	rec->system_time = page->system_time;
	rec->mul = page->tsc_to_system_mul;
	rec->target = target_vcpu(&e, vcpu_id);
	rec->version = page->version;
	rec->shift = page->tsc_shift;
	rec->flags = page->flags;
	emit_publish(&e);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
