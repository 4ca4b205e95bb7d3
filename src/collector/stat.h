/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exit latencies counted in the kernel, without a stream of events: `hostrace stat`, `top` and `exporter`.
 *
 *	stat_open()	loads, attaches; counting begins
 *	stat_vcpu()	what is counted so far, in memory that BPF continues writing
 *	stat_stop()	detaches: from now on the counts stop changing
 *	stat_close()	frees
 */
#ifndef HOSTRACE_COLLECTOR_STAT_H
#define HOSTRACE_COLLECTOR_STAT_H

#include <stdbool.h>

#include "statmap.h"
#include "vm/vm.h"

struct stat;

/* What a span is: on backends without kvm_exit only what went through the VMM is seen. */
enum stat_span {
	STAT_EXIT_TO_ENTRY,
	STAT_USERSPACE_EXIT,
};

/* -ENOTSUP with the error message set: the VM has no exits, because it does not use KVM. */
int stat_vm_check(const struct vm *vm);

/* Watches one VM. Errors: -EPERM (the error message names the capability and how to grant it), -ENOTSUP, ... */
int stat_open(const struct vm *vm, struct stat **ret);

struct stat_request {
	pid_t only; /* the one VM to watch, with vCPUs 0 to nr_vcpus - 1; 0: those of stat_vm_add() */
	unsigned int nr_vcpus;	 /* of all VMs together */
	bool details;		 /* causes, ports and open exits: statmap.h */
	bool pages;		 /* with details: also the pages of MMIO */
	bool steals;		 /* with details: also which cgroups vCPUs wait for */
	bool preemptors;	 /* with details: also which tasks run meanwhile */
	unsigned int nr_kernels; /* with details, guest tasks: of so many VMs */
};

int stat_open_request(const struct stat_request *request, struct stat **ret);

/*
 * Watches this VM, too: its vCPUs are ret->first and so on of stat_vcpu(), all zero. Needs the system call bpf(), and
 * no capability. ret->guest_kernel is set before: the VM's number among stat_guest_kernel() + 1, or 0. -ENOSPC: no
 * vCPUs are free. Errors with the error message set.
 */
int stat_vm_add(struct stat *s, const struct vm *vm, struct stat_vm *ret);
void stat_vm_remove(struct stat *s, pid_t pid, const struct stat_vm *vm);

/* Processes that ran vCPUs which are not counted, since the last call; at most STAT_STRANGERS. Their number. */
unsigned int stat_strangers(struct stat *s, pid_t *ret);

enum stat_span stat_span(const struct stat *s);

/* Of the details: which of them this kernel offers. */
bool stat_has_causes(const struct stat *s);
bool stat_has_ports(const struct stat *s);
bool stat_has_pages(const struct stat *s);
bool stat_has_steals(const struct stat *s);
bool stat_has_tasks(const struct stat *s);

/* Where a VM's tasks are, to be filled in (commands/live/guest_watch.h). Only if stat_has_tasks(). */
struct guest_kernel *stat_guest_kernel(const struct stat *s, unsigned int number);

/* The programs that were wanted, at most STAT_PROBES_MAX. Their number. */
enum { STAT_PROBES_MAX = 10 };

struct stat_probe {
	const char *name;
	bool attached; /* false: this kernel rejected it */
};

unsigned int stat_probes(const struct stat *s, struct stat_probe *ret);

/* Memory of the counters. */
size_t stat_bytes(const struct stat *s);

/* The section of the program for the exit: "tp_btf/kvm_exit". */
const char *stat_where(const struct stat *s);

unsigned int stat_nr_vcpus(const struct stat *s);
unsigned int stat_nr_cells(const struct stat *s); /* per vCPU; in the last one all other reasons */
const struct stat_vcpu *stat_vcpu(const struct stat *s, unsigned int index);

/* Cells follow their vCPU. */
static inline const struct stat_cell *stat_cells_of(const struct stat_vcpu *v)
{
	return (const struct stat_cell *)(v + 1);
}

/* Exits of vCPUs that were plugged in after stat_open() or stat_vm_add(): not counted anywhere else. */
uint64_t stat_missed(const struct stat *s);

/* Exits of VMs that stat_vm_add() was not called for. */
uint64_t stat_unwatched(const struct stat *s);

void stat_stop(struct stat *s);
void stat_close(struct stat *s);

#endif
