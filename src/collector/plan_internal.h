/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the plan's own files only. */
#ifndef HOSTRACE_PLAN_INTERNAL_H
#define HOSTRACE_PLAN_INTERNAL_H

#include "collector/elf.h"
#include "collector/plan.h"

enum { PROBES_MAX = 192 }; /* rows of all tables */

/* The next row of the plan, absent until somebody finds a way. NULL if the plan is full. */
static inline struct probe_plan *plan_add(struct plan *plan, const char *event, const char *group,
					  const char *about)
{
	struct probe_plan *p;

	if (plan->nr == PROBES_MAX)
		return NULL;
	p = &plan->probe[plan->nr++];
	*p = (struct probe_plan){
		.event = event, .group = group, .about = about, .how = PROBE_ABSENT};
	return p;
}

/* plan_kernel.c: the rows of probes/kvm.def for the running kernel. */
void plan_kernel(struct plan *plan);

/* Does the BTF of this module, or of the kernel, have that struct? vmlinux may be NULL: no. */
struct btf;
bool kernel_struct_known(struct btf *vmlinux, const char *module, const char *name);

/*
 * plan_qemu.c: the rows of probes/qemu.def and inside.def for this binary. `decoder` is running, or NULL: one is
 * started if it is needed. 0 or -errno with the error message set.
 */
int plan_qemu(const char *exe, struct helper *decoder, struct plan *plan);

/*
 * plan_layout.c: does the binary's own code agree with plan->layout? False: it does not, and `why`
 * says so. Sets plan->layout_note.
 */
bool layout_check(const struct elf_file *elf, struct helper *decoder, struct plan *plan, char *why,
		  size_t size);

#endif
