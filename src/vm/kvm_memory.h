/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of a guest's memory the host can read. What KVM encrypts, or keeps in a guest_memfd, or the VMM has in
 * memfd_secret(2), or is a passed-through device's, cannot be read whatever the rights.
 */
#ifndef HOSTRACE_VM_KVM_MEMORY_H
#define HOSTRACE_VM_KVM_MEMORY_H

#include "vm/kvm_state.h"
#include "vm/memory.h"

/*
 * "128.0 MiB in 5 slots", and what of it cannot be read, as one line in buf. m: the process's memory; NULL: its
 * mappings are unknown. Returns whether there is memory that can be read.
 */
bool kvm_memory_describe(const struct kvm_vm *vm, const struct memory *m, char *buf, size_t size);

#endif
