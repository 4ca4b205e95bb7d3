/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's virtual memory read through the process that owns it, while it runs: vm/guest_ram.h
 * finds the RAM (by KVM's slots, or by the guest's own constants) and walks the page tables; QEMU's monitor provides
 * their address, or KVM, which has cached it.
 */
#ifndef HOSTRACE_OSV_LIVE_H
#define HOSTRACE_OSV_LIVE_H

#include "fetch/layout.h"
#include "vm/kvm_state.h"

struct osv_live {
	struct memory memory;
	struct guest_ram ram;
	struct guest_space space;
	uint64_t page, at; /* the newest translation: the guest's page, and where the process has it */
};

/* Which VM. At least one of qmp and kvm. */
struct osv_live_vm {
	pid_t pid; /* 0: none */
	uint64_t start; /* proc_start() */
	uint64_t ram_bytes;
	const char *qmp; /* its monitor's socket, or NULL */
	const struct kvm_vm *kvm; /* borrowed, also while the guest is read; or NULL */
};

/* timeout_ns: for each answer of the monitor, 0: its default. 0, or -errno with the error message set. */
int osv_live_open(const struct osv_live_vm *vm, uint64_t timeout_ns, const struct layout *l,
		  struct osv_live *ret);
void osv_live_close(struct osv_live *m);

/* All or nothing; -EFAULT with the error message set. */
int osv_live_read(struct osv_live *m, uint64_t address, void *ret, size_t len);

#endif
