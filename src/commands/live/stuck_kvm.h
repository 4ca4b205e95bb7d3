/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KVM's state of the VM between the two looks of `stuck`. */
#ifndef HOSTRACE_STUCK_KVM_H
#define HOSTRACE_STUCK_KVM_H

#include "commands/live/stuck_facts.h"

struct stuck_kvm {
	const struct stuck_facts *facts; /* NULL: it cannot be read */
	struct kvm_state state;	   /* as of the last look, with what has been pending since the first one */
	char *error;		   /* why it cannot be read; NULL: it is, or the VM does not use KVM */
};

/* Looks for the first time. What cannot be read is not an error. */
void stuck_kvm_open(struct stuck_kvm *k, const struct vm *vm, const struct stuck_facts *f);
void stuck_kvm_close(struct stuck_kvm *k);

void stuck_kvm_look(struct stuck_kvm *k);

/* The VM's state; NULL: unknown. */
const struct kvm_vm *stuck_kvm_state(const struct stuck_kvm *k);

#endif
