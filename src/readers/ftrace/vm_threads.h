/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which VM a vCPU thread belongs to, in recordings that name threads but not processes (trace.dat, tracefs text). */
#ifndef HOSTRACE_VM_THREADS_H
#define HOSTRACE_VM_THREADS_H

#include "base/cleanup.h"
#include "event/reader.h"

enum {
	VM_THREADS_MAX = 1 << 16, /* vCPU threads of one recording */
	VM_THREADS_VMS_MAX = 4096,
};

struct vm_threads;

/* NULL: out of memory, with the error message set. */
struct vm_threads *vm_threads_new(void);
void vm_threads_free(struct vm_threads *x);
DEFINE_CLEANUP(vm_threads, struct vm_threads *, vm_threads_free);

/* A guest that the file names; its index for vm_threads_guest_cpu(), negative if there is no memory or capacity. */
int vm_threads_guest(struct vm_threads *x, const char *name, uint64_t trace_id);
void vm_threads_guest_cpu(struct vm_threads *x, int guest, uint32_t vcpu, uint32_t tid);

/* A thread's pid and vCPU, as vm_threads_set() sets them; 0 and RECORD_NO_VCPU if it is no vCPU's. */
void vm_threads_get(const struct vm_threads *x, uint32_t tid, uint32_t *ret_pid,
		    uint16_t *ret_vcpu);

/* Does each thread have one vCPU number, and is the table complete? Then an event's own is that of its thread. */
bool vm_threads_are_plain(const struct vm_threads *x);

/* The thread ran this vCPU (RECORD_NO_VCPU: none). tgid: its thread group, 0 if unknown. */
void vm_threads_seen(struct vm_threads *x, uint16_t vcpu, uint32_t tid, uint32_t tgid);

/* The vCPU that runs in a thread of this name, "CPU 4/KVM" of QEMU; RECORD_NO_VCPU: none is known to. */
uint16_t vm_threads_vcpu_of_name(const char *name, size_t len);

/* The thread's name is that of this vCPU's thread: it counts if nothing else shows the vCPU. */
void vm_threads_named(struct vm_threads *x, uint16_t vcpu, uint32_t tid, uint32_t tgid);

/*
 * After the last thread: decides. Adds the VMs to info->meta ("vms", as in doc/format.md, with "trace_id" where it is
 * known) if there are several or they have names, and a note if threads could not be assigned.
 */
void vm_threads_settle(struct vm_threads *x, struct trace_info *info);

/*
 * Sets the event's pid, and its vCPU if it is one of ours that does not name it, in the event and in its record: a
 * thread runs the vCPU that it ran first.
 */
void vm_threads_set(const struct vm_threads *x, uint8_t *record, struct event *ev);

#endif
