/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What can be recorded and measured of one VM. `doctor` prints it. */
#ifndef HOSTRACE_VM_REPORT_H
#define HOSTRACE_VM_REPORT_H

#include <stdbool.h>

#include "collector/plan.h"
#include "pairing/analyzer.h"
#include "vm/kvm_state.h"

/* One VM and its plan. */
struct vm_report {
	const struct vm *vm; /* NULL: only the kernel is examined */
	struct plan plan;
	bool unreadable; /* its executable cannot be read: it belongs to another user */
	char memory[256]; /* what of the guest's memory can be read; "" if the VM does not use KVM */
};

/*
 * The report of a VM, which must outlive it, or of the kernel alone (NULL). If the executable cannot be read, the
 * kernel's events remain. 0 or -errno with the error message set; free in both cases.
 */
int vm_report_make(const struct vm *vm, struct vm_report *ret);

/* Adds what KVM knows of the VMs' memory; error: why nothing is known, or NULL. */
void vm_reports_complete(struct vm_report *reports, unsigned int nr, const struct kvm_state *state,
			 const char *error);

void vm_report_free(struct vm_report *p);

/* Kernel events are the same for all VMs. */
bool event_is_kernels(const struct probe_plan *p);

/* Descriptors of another user's VM cannot be seen; its command line can. */
bool uses_kvm(const struct vm *vm);

enum verdict { WORKS, FALLS_BACK, LACKS };

/* Can this be measured of the VM? LACKS: *ret is the events of which one is needed; FALLS_BACK: to this analyzer. */
enum verdict analyzer_check(const struct vm_report *p, const struct analyzer *a, const char **ret);

#endif
