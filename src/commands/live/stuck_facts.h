/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What only a process with privileges can read of a VM, while the one that reads the VM's memory is confined: a child
 * process, forked before, answers requests for the three things below. It reads what the kernel reports and nothing
 * that the guest or QEMU has written, and believes nothing of who asks: a request is one byte.
 */
#ifndef HOSTRACE_STUCK_FACTS_H
#define HOSTRACE_STUCK_FACTS_H

#include "analyzers/stuck/stuck.h"

struct stuck_facts {
	int channel;
};

/* Call it with one thread. 0 or -errno with the error message set. */
int stuck_facts_start(struct stuck_facts *f, const struct vm *vm);

/* The process ends. */
void stuck_facts_stop(struct stuck_facts *f);

/* Sets the time and the threads of a look. All return 0 or -errno with the error message set. */
int stuck_facts_threads(const struct stuck_facts *f, struct stuck_look *l);

/* KVM's state of this VM, without its memory slots. Free it in any case. */
int stuck_facts_kvm(const struct stuck_facts *f, struct kvm_state *ret);

/* *ret is allocated. */
int stuck_facts_peers(const struct stuck_facts *f, struct socket_peer **ret, unsigned int *ret_nr);

#endif
