/* SPDX-License-Identifier: GPL-2.0-or-later */
/* KVM's own knowledge of the VMs of this host (vm/kvm_state.h), read by a BPF iterator (CAP_BPF, CAP_PERFMON). */
#ifndef HOSTRACE_KVM_LOOK_H
#define HOSTRACE_KVM_LOOK_H

#include <errno.h>

#include "base/error.h"
#include "vm/kvm_state.h"

#ifdef HOSTRACE_LIVE
/* 0, or -errno with the error message set, which says what is missing. Free *ret in both cases. */
int kvm_look(struct kvm_state *ret);

/* The same, to look several times. 0, or -errno with the error message set. */
struct kvm_looker;
int kvm_looker_open(struct kvm_looker **ret);
int kvm_looker_look(struct kvm_looker *l, struct kvm_state *ret);
void kvm_looker_close(struct kvm_looker *l);
#else
static inline int kvm_look(struct kvm_state *ret)
{
	*ret = (struct kvm_state){0};
	return fail(-ENOTSUP, "this hostrace was built without libbpf");
}
#endif

/* Completes VMs of vm_list() with what KVM knows, as far as it can be read. */
static inline void kvm_look_complete(struct vm *vms, unsigned int nr)
{
	struct kvm_state state = {0};

	if (nr && !kvm_look(&state))
		kvm_state_complete(&state, vms, nr);
	kvm_state_free(&state);
}

#endif
