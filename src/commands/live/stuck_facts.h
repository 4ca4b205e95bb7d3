/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What only a process with privileges can read of a VM, while the one that reads the VM's memory is confined: a child
 * process, forked before, answers requests for the three things below. It reads what the kernel reports and nothing
 * that the guest or QEMU has written, and believes nothing of who asks: a request is one byte.
 */
#ifndef HOSTRACE_STUCK_FACTS_H
#define HOSTRACE_STUCK_FACTS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyzers/stuck/stuck.h"
#include "collector/unwind.h"

struct stuck_facts {
	int channel;
};

/* Call it with one thread. 0 or -errno with the error message set. */
int stuck_facts_start(struct stuck_facts *f, const struct vm *vm);

/* The process ends. */
void stuck_facts_stop(struct stuck_facts *f);

/* Sets the time and the threads of a look. All return 0 or -errno with the error message set. */
int stuck_facts_threads(const struct stuck_facts *f, struct stuck_look *l);

/* *ret is allocated. */
int stuck_facts_peers(const struct stuck_facts *f, struct socket_peer **ret, unsigned int *ret_nr);

struct stuck_guard {
	int done; /* in the child: closed when the VM has been read */
};

/*
 * Returns 1 in the child, which continues; 0 in the parent after the child has ended, with the child's exit status in
 * *ret_status; -errno with the error message set: no process, or the VM was not read within timeout_ns.
 */
int stuck_guard_begin(struct stuck_guard *g, uint64_t timeout_ns, int *ret_status);

/* In the child: what follows may take as long as it likes (a pager). */
void stuck_guard_done(struct stuck_guard *g);

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

/*
 * Sets user_stack of all threads that do not run. Registers other than the stack and instruction pointers are not known
 * without stopping the thread: a stack ends where a function needs one. That there is none is not an error.
 */
void stuck_stacks_read(struct unwinder *u, const struct memory *m, struct stuck_look *l);

#endif
