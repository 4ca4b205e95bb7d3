/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KVM's state of the VM between the two looks of `stuck`. */
#ifndef HOSTRACE_STUCK_KVM_H
#define HOSTRACE_STUCK_KVM_H

#include "vm/kvm_state.h"

struct kvm_looker;

struct stuck_kvm {
	struct kvm_looker *looker; /* NULL: it cannot be read */
	struct kvm_state state;	   /* as of the last look, with what has been pending since the first one */
	char *error;		   /* why it cannot be read; NULL: it is, or the VM does not use KVM */
};

/* Looks for the first time. What cannot be read is not an error. */
void stuck_kvm_open(struct stuck_kvm *k, const struct vm *vm);
void stuck_kvm_close(struct stuck_kvm *k);

void stuck_kvm_look(struct stuck_kvm *k, pid_t pid);

#endif
