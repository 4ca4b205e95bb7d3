/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What KVM itself knows of the VMs of this host: the memory slots of each, which map guest physical addresses to the
 * VMM's memory, and which thread runs which vCPU. It needs no knowledge of the VMM and no names of threads, and a
 * guest or a VMM cannot fake it. collector/kvm_look.h reads it.
 */
#ifndef HOSTRACE_VM_KVM_STATE_H
#define HOSTRACE_VM_KVM_STATE_H

#include "kvm_record.h"
#include "vm/guest_ram.h"
#include "vm/vm.h"

struct kvm_vcpu_state {
	uint32_t index;
	pid_t tid; /* 0: no thread has run it yet */
	struct guest_space space;
	uint32_t state; /* KVM_VCPU_* */
	uint64_t rip;	/* as of the last VM-exit; of a vCPU in guest mode, it has gone on since */
	/* Interrupts that its local APIC holds, a bit for each vector: requested and not taken, and being serviced. */
	uint32_t irr[KVM_APIC_WORDS], isr[KVM_APIC_WORDS];
	uint32_t tpr; /* its task priority: masks vectors whose upper 4 bits are not higher */
	uint64_t tsc_offset, tsc_ratio; /* as in struct kvm_record, with KVM_VCPU_TSC */
	uint32_t tsc_bits;
};

/* One VM. A process may hold several, and a process that is not the VMM may hold one that it got from there. */
struct kvm_vm {
	pid_t pid;
	uint64_t id;	/* the same in every process that holds the VM; only to be compared */
	uint32_t state; /* KVM_STATE_* */
	uint32_t type;
	uint32_t ioapic_irr, ioapic_masked, pic_irr, pic_masked; /* with KVM_STATE_IOAPIC, KVM_STATE_PIC */
	struct guest_slot *slot; /* sorted by guest address, without overlap */
	size_t nr_slots;
	bool hypervisor;     /* a vCPU has enabled SVM or VMX: the guest runs guests of its own, or may at any time */
	bool dirty_log;	     /* of its largest slot: a display's memory is always logged */
	bool private_memory; /* of a slot: in a guest_memfd, which is not mapped in the VMM */
	struct kvm_vcpu_state *vcpu; /* sorted by index */
	size_t nr_vcpus;
};

struct kvm_state {
	struct kvm_vm *vm;
	size_t nr;
};

/* The guest's TSC on this vCPU when the host's is `host_tsc`. */
uint64_t kvm_guest_tsc(const struct kvm_vcpu_state *v, uint64_t host_tsc);

/* From what the kernel reported, in its order: 0, -EBADMSG (a partial record), -ENOMEM. Free in both cases. */
int kvm_state_parse(const void *records, size_t size, struct kvm_state *ret);
void kvm_state_free(struct kvm_state *s);

/* The VM that the process runs: its own, with the most vCPUs. NULL: none. *ret_nr (may be NULL): how many it runs. */
const struct kvm_vm *kvm_state_of(const struct kvm_state *s, pid_t pid, unsigned int *ret_nr);

/*
 * What of a guest with this encryption cannot be seen beside its memory, and what is recorded nevertheless; NULL: the
 * name is unknown. From the documentation of CPUs and kernel: not tested on such hardware.
 */
const char *encryption_effect(const char *encryption);

/* What is recorded of a guest that runs guests of its own. Tested with SVM (tests/rig), not with VMX. */
extern const char hypervisor_effect[];

/* Sum of the slots that may be RAM: read-only ones are firmware. */
uint64_t kvm_memory_bytes(const struct kvm_vm *vm);

/* Leaves those interrupts pending that were so before, too. */
void kvm_still_pending(struct kvm_vm *now, const struct kvm_vm *before);

/* Sets the threads of these VMs' vCPUs, and the size of the memory where the command line does not say it. */
void kvm_state_complete(const struct kvm_state *s, struct vm *vms, unsigned int nr);

#define VCPU_DEBUGFS "/sys/kernel/debug/kvm"

/* The vCPU whose thread this is; -1: unknown, or none. */
int vcpu_debugfs_index(pid_t pid, pid_t tid);

/*
 * "128.0 MiB in 5 slots", and what of it cannot be read, as one line in buf. m: the process's memory; NULL: its
 * mappings are unknown. Returns whether there is memory that can be read.
 */
bool kvm_memory_describe(const struct kvm_vm *vm, const struct memory *m, char *buf, size_t size);

#endif
