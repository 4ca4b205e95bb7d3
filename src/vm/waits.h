/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long a VM's vCPUs were ready to run without a CPU, and what limited them (limits.h), from one reading to the
 * next.
 */
#ifndef HOSTRACE_WAITS_H
#define HOSTRACE_WAITS_H

#include <jansson.h>

#include "base/cleanup.h"
#include "vm/vm.h"

struct vm_waits;

/*
 * The first reading. Threads that cannot be read are left out. stays_open: as for reread_open() (reread.h). NULL: out
 * of memory, with the error message set.
 */
struct vm_waits *vm_waits_open(const struct vm *vm, bool stays_open);
void vm_waits_close(struct vm_waits *w);
DEFINE_CLEANUP(vm_waits, struct vm_waits *, vm_waits_close);

/*
 * {"threads": [{"vcpu", "tid", "ready_ns", "waits": how often}], "limits": as vm_limits_json() has them}, since the
 * last reading. A vCPU whose thread has ended, or is not known, has no row. One that was stopped by a signal, a
 * debugger or a freezer at the first reading and has not run since has "stopped_ns", one that waited in the VMM until
 * it may enter KVM_RUN "paused_ns": all of the time. A new reference.
 */
json_t *vm_waits_next(struct vm_waits *w);

#endif
