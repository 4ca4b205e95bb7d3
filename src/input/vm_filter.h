/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option --vm of reports: which of the VMs that the inputs list it names. */
#ifndef HOSTRACE_INPUT_VM_FILTER_H
#define HOSTRACE_INPUT_VM_FILTER_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "base/options.h"

/*
 * The pids of the VMs that `wanted` names: PID, NAME, UUID or a glob of names, several separated by commas. `vms`: what
 * the inputs list, as "vms" in doc/format.md; if it is empty, only pids can be given, and all are accepted. *ret is
 * allocated. -ESRCH with the error message set, which lists the VMs of the trace, if one of the items names none.
 */
int vm_filter_pids(const struct text_list *wanted, const json_t *vms, uint32_t **ret,
		   unsigned int *ret_nr);

#endif
