/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What bpf/kvm_state.bpf.c reports of KVM's own structures: the VMs whose file descriptors processes hold, their memory
 * slots and vCPUs. Included by both compilers.
 */
#ifndef HOSTRACE_KVM_RECORD_H
#define HOSTRACE_KVM_RECORD_H

#include "record.h"

enum kvm_record_kind { KVM_RECORD_SLOT, KVM_RECORD_VM, KVM_RECORD_VCPU };

enum {
	KVM_SLOTS_MAX = 600,	/* that are reported of a VM; QEMU uses about 20 */
	KVM_SLOT_CHAIN_MAX = 32, /* of a bucket of KVM's hash table, which has 128 */
};

/* kvm_record.vm.state */
enum {
	KVM_STATE_SLOTS = 1 << 0,   /* the slots are known */
	KVM_STATE_OWN = 1 << 1,	    /* the process is the one whose memory the slots map */
	KVM_STATE_CHANGED = 1 << 2, /* slots changed while they were read */
	KVM_STATE_CUT = 1 << 3,	    /* there are more slots */
	KVM_STATE_SEV = 1 << 4,
	KVM_STATE_SEV_ES = 1 << 5,
	KVM_STATE_IOAPIC = 1 << 6, /* KVM has the I/O APIC and the PICs: they are known */
	KVM_STATE_PIC = 1 << 7,
};

/* kvm_record.vcpu.state */
enum {
	KVM_VCPU_RIP = 1 << 0,	    /* rip is known */
	KVM_VCPU_APIC = 1 << 1,	    /* KVM has the local APIC: irr, isr and tpr are known */
	KVM_VCPU_IN_GUEST = 1 << 2, /* in guest mode */
	KVM_VCPU_HALTED = 1 << 3,
	KVM_VCPU_TSC = 1 << 4, /* tsc_offset, tsc_ratio and tsc_bits are known */
};

enum { KVM_APIC_WORDS = 8 /* of 32 vectors each */ };

/* Slots come before their VM. */
struct kvm_record {
	hr_u32 kind, pid; /* in our PID namespace */
	hr_u64 kvm;	  /* which VM: a kernel address, only to be compared */
	union {
		struct {
			hr_u64 guest, size, process; /* addresses: the guest's, the process's */
			hr_u32 flags;		     /* KVM_MEM_* */
			hr_u32 pad;
		} slot;
		struct {
			hr_u32 state, type; /* type: KVM_X86_*_VM */
			hr_u64 vcpus;
			hr_u32 ioapic_irr, ioapic_masked; /* a bit for each pin: asserted, masked */
			hr_u32 pic_irr, pic_masked;	  /* a bit for each of 16 lines */
		} vm;
		struct {
			hr_u32 index;
			hr_u32 tid; /* that ran it last, in our PID namespace; 0: none has */
			hr_u64 cr3, cr4, efer; /* as KVM has cached them */
			hr_u64 rip;	       /* as of the last VM-exit */
			hr_u32 state, tpr;
			hr_u32 irr[KVM_APIC_WORDS], isr[KVM_APIC_WORDS];
			/* the guest's TSC = (host's * tsc_ratio >> tsc_bits) + tsc_offset; tsc_bits 0: no ratio */
			hr_u64 tsc_offset, tsc_ratio;
			hr_u32 tsc_bits, pad;
		} vcpu;
	};
};

#endif
