// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every VMM holds file descriptors of KVM, whatever else it is: an iterator over all processes' files finds them, and
 * reads the VM's memory slots and the thread of each vCPU from KVM's structures. It runs when user space reads it, and
 * nothing is attached to KVM.
 *
 * The structures change meanwhile and are read without their locks: every pointer is read with a check, the walks have
 * limits, and the generation of the slots shows if they changed.
 */
#include "compat.bpf.h"
#include "kvm_record.h"

#define ANON_INODE_MAGIC 0x09041934 /* linux/magic.h */
#define NAME_VM		 0x006d762d6d766bull /* "kvm-vm" */
#define NAME_VM_MASK	 0xffffffffffffffull
#define NAME_VCPU	 0x757063762d6d766bull /* "kvm-vcpu" */

enum {
	IOAPIC_PINS = 24,
	IOAPIC_MASKED = 1 << 16,
	APIC_TPR = 0x80,
	APIC_ISR = 0x100,
	APIC_IRR = 0x200,
	VCPU_IN_GUEST_MODE = 1, /* linux/kvm_host.h */
	MP_STATE_HALTED = 3,	/* KVM_MP_STATE_HALTED, linux/kvm.h */
};

const volatile hr_u32 kvm_state_svm = 0; /* 1: KVM uses SVM and its BTF has struct kvm_svm */

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	hr_u64 fd;
	struct file *file;
};

/* The id of a thread in the PID namespace of the reader, which is `level` deep; 0: it has none. */
static __always_inline hr_u32 pid_here(struct pid *pid, hr_u32 level)
{
	int nr = 0;

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	bpf_core_read(&nr, sizeof(nr),
		      (void *)pid + bpf_core_field_offset(struct pid, numbers) +
			      (hr_u64)level * bpf_core_type_size(struct upid) +
			      bpf_core_field_offset(struct upid, nr));
	return (hr_u32)nr;
}

static __always_inline hr_u32 reader_level(void)
{
	struct task_struct *reader = (void *)bpf_get_current_task();

	return BPF_CORE_READ(reader, thread_pid, level);
}

/* ---- slots ---- */

struct slot_walk {
	struct seq_file *seq;
	struct kvm_memslots *slots;
	struct kvm_record record;
	hr_u32 node; /* which of a slot's two sets of links the slots use */
	hr_u32 nr, cut;
};

/* One bucket of the hash table of slots. */
static long bucket_walk(hr_u32 bucket, struct slot_walk *w)
{
	struct hlist_head *head = (void *)w->slots +
				  bpf_core_field_offset(struct kvm_memslots, id_hash) +
				  bucket * bpf_core_type_size(struct hlist_head);
	hr_u64 link = w->node * bpf_core_type_size(struct hlist_node);
	struct hlist_node *node = BPF_CORE_READ(head, first);

	for (int i = 0; i < KVM_SLOT_CHAIN_MAX && node; i++) {
		struct kvm_memory_slot *slot =
			(void *)node - bpf_core_field_offset(struct kvm_memory_slot, id_node) -
			link;

		if (w->nr >= KVM_SLOTS_MAX)
			break;
		w->nr++;
		w->record.slot.guest = BPF_CORE_READ(slot, base_gfn) << 12;
		w->record.slot.size = (hr_u64)BPF_CORE_READ(slot, npages) << 12;
		w->record.slot.process = BPF_CORE_READ(slot, userspace_addr);
		w->record.slot.flags = BPF_CORE_READ(slot, flags);
		bpf_seq_write(w->seq, &w->record, sizeof(w->record));
		node = BPF_CORE_READ(node, next);
	}
	w->cut |= node != NULL;
	return 0;
}

/* KVM before v5.17 keeps slots otherwise, and has no bpf_loop() either. */
static __always_inline hr_u32 slots_report(struct seq_file *seq, struct kvm *kvm,
					   const struct kvm_record *vm)
{
	struct kvm_memslots *slots = NULL;
	hr_u32 state = KVM_STATE_SLOTS;
	hr_u64 generation;

	if (!bpf_core_field_exists(slots->id_hash) || !bpf_core_field_exists(slots->node_idx))
		return 0;
	slots = BPF_CORE_READ(kvm, memslots[0]);

	struct slot_walk w = {.seq = seq, .slots = slots};

	w.record.kind = KVM_RECORD_SLOT;
	w.record.pid = vm->pid;
	w.record.kvm = vm->kvm;
	w.node = BPF_CORE_READ(slots, node_idx) & 1;
	generation = BPF_CORE_READ(slots, generation);
	bpf_loop(bpf_core_field_size(struct kvm_memslots, id_hash) /
			 bpf_core_type_size(struct hlist_head),
		 bucket_walk, &w, 0);
	if (BPF_CORE_READ(kvm, memslots[0]) != slots ||
	    BPF_CORE_READ(slots, generation) != generation)
		state |= KVM_STATE_CHANGED;
	return state | (w.cut ? KVM_STATE_CUT : 0);
}

/* ---- interrupt controllers ---- */

static __always_inline void controllers_read(struct kvm *kvm, struct kvm_record *r)
{
	struct kvm_ioapic *ioapic = NULL;
	struct kvm_pic *pic = NULL;

	if (bpf_core_field_exists(kvm->arch.vioapic))
		ioapic = BPF_CORE_READ(kvm, arch.vioapic);
	if (bpf_core_field_exists(kvm->arch.vpic))
		pic = BPF_CORE_READ(kvm, arch.vpic);
	if (ioapic) {
		r->vm.state |= KVM_STATE_IOAPIC;
		r->vm.ioapic_irr = BPF_CORE_READ(ioapic, irr);
		for (int i = 0; i < IOAPIC_PINS; i++)
			if (BPF_CORE_READ(ioapic, redirtbl[i].bits) & IOAPIC_MASKED)
				r->vm.ioapic_masked |= 1u << i;
	}
	if (pic) {
		r->vm.state |= KVM_STATE_PIC;
		r->vm.pic_irr = BPF_CORE_READ(pic, pics[0].irr) |
				(hr_u32)BPF_CORE_READ(pic, pics[1].irr) << 8;
		r->vm.pic_masked = BPF_CORE_READ(pic, pics[0].imr) |
				   (hr_u32)BPF_CORE_READ(pic, pics[1].imr) << 8;
	}
}

/* Registers of 32 bits, 16 bytes apart (Intel SDM 3, 11.4.1). */
static __always_inline void bits_read(void *from, hr_u32 to[KVM_APIC_WORDS])
{
	for (int i = 0; i < KVM_APIC_WORDS; i++)
		bpf_probe_read_kernel(&to[i], sizeof(to[i]), from + 16 * i);
}

static __always_inline void vcpu_state_read(struct kvm_vcpu *vcpu, struct kvm_record *r)
{
	struct kvm_lapic *apic = NULL;
	void *regs;
	hr_u64 rip;

	if (bpf_core_field_exists(vcpu->arch.apic))
		apic = BPF_CORE_READ(vcpu, arch.apic);
	regs = apic ? BPF_CORE_READ(apic, regs) : NULL;

	/* VMX reads the instruction pointer when it is first requested after an exit */
	if (vcpu_rip_read(vcpu, &rip)) {
		r->vcpu.state |= KVM_VCPU_RIP;
		r->vcpu.rip = rip;
	}
	r->vcpu.state |= KVM_VCPU_TSC;
	r->vcpu.tsc_offset = vcpu_l1_tsc_offset(vcpu);
	r->vcpu.tsc_ratio = vcpu_l1_tsc_ratio(vcpu);
	r->vcpu.tsc_bits = tsc_ratio_bits(r->vcpu.tsc_ratio);
	if (BPF_CORE_READ(vcpu, mode) == VCPU_IN_GUEST_MODE)
		r->vcpu.state |= KVM_VCPU_IN_GUEST;
	if (bpf_core_field_exists(vcpu->arch.mp_state) &&
	    BPF_CORE_READ(vcpu, arch.mp_state) == MP_STATE_HALTED)
		r->vcpu.state |= KVM_VCPU_HALTED;
	if (!regs)
		return;
	r->vcpu.state |= KVM_VCPU_APIC;
	bpf_probe_read_kernel(&r->vcpu.tpr, sizeof(r->vcpu.tpr), regs + APIC_TPR);
	bits_read(regs + APIC_IRR, r->vcpu.irr);
	bits_read(regs + APIC_ISR, r->vcpu.isr);
}

/* ---- VMs and vCPUs ---- */

static __always_inline hr_u32 sev_state(struct kvm *kvm)
{
	struct kvm_svm *svm = (void *)kvm - bpf_core_field_offset(struct kvm_svm, kvm);
	hr_u32 state = 0;

	if (!kvm_state_svm || !bpf_core_field_exists(svm->sev_info.active))
		return 0;
	if (BPF_CORE_READ(svm, sev_info.active))
		state |= KVM_STATE_SEV;
	if (bpf_core_field_exists(svm->sev_info.es_active) &&
	    BPF_CORE_READ(svm, sev_info.es_active))
		state |= KVM_STATE_SEV_ES;
	return state;
}

static __always_inline void vm_report(struct seq_file *seq, struct task_struct *task,
				      struct kvm *kvm, hr_u32 pid)
{
	struct kvm_record r = {.kind = KVM_RECORD_VM, .pid = pid, .kvm = (hr_u64)kvm};
	hr_u64 type = 0;

	r.vm.state = slots_report(seq, kvm, &r) | sev_state(kvm);
	if (BPF_CORE_READ(kvm, mm) == BPF_CORE_READ(task, mm))
		r.vm.state |= KVM_STATE_OWN;
	r.vm.vcpus = (hr_u64)BPF_CORE_READ(kvm, online_vcpus.counter);
	if (bpf_core_field_exists(kvm->arch.vm_type))
		bpf_core_read(&type, bpf_core_field_size(kvm->arch.vm_type) & 15,
			      &kvm->arch.vm_type);
	r.vm.type = (hr_u32)type;
	controllers_read(kvm, &r);
	bpf_seq_write(seq, &r, sizeof(r));
}

static __always_inline void vcpu_report(struct seq_file *seq, struct kvm_vcpu *vcpu, hr_u32 pid,
					hr_u32 level)
{
	struct kvm_record r = {
		.kind = KVM_RECORD_VCPU, .pid = pid, .kvm = (hr_u64)BPF_CORE_READ(vcpu, kvm)};

	r.vcpu.index = (hr_u32)BPF_CORE_READ(vcpu, vcpu_idx);
	r.vcpu.tid = pid_here(BPF_CORE_READ(vcpu, pid), level);
	if (bpf_core_field_exists(vcpu->arch.cr3)) {
		r.vcpu.cr3 = BPF_CORE_READ(vcpu, arch.cr3);
		r.vcpu.cr4 = BPF_CORE_READ(vcpu, arch.cr4);
		r.vcpu.efer = BPF_CORE_READ(vcpu, arch.efer);
	}
	vcpu_state_read(vcpu, &r);
	bpf_seq_write(seq, &r, sizeof(r));
}

SEC("iter/task_file")
int kvm_state(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	hr_u32 pid, level = reader_level();
	struct kvm *kvm = NULL;
	hr_u64 name = 0;

	if (!task || !file || BPF_CORE_READ(file, f_inode, i_sb, s_magic) != ANON_INODE_MAGIC)
		return 0;
	bpf_probe_read_kernel(&name, sizeof(name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	pid = pid_here(BPF_CORE_READ(task, group_leader, thread_pid), level);
	if ((name & NAME_VM_MASK) == NAME_VM) {
		kvm = BPF_CORE_READ(file, private_data);
	} else if (name == NAME_VCPU) { /* the VM's own descriptor may have been closed */
		struct kvm_vcpu *vcpu = BPF_CORE_READ(file, private_data);

		vcpu_report(ctx->meta->seq, vcpu, pid, level);
		kvm = BPF_CORE_READ(vcpu, kvm);
	}
	if (kvm)
		vm_report(ctx->meta->seq, task, kvm, pid);
	return 0;
}
