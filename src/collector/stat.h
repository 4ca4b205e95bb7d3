/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exit latencies counted in the kernel, without a stream of events: `hostrace stat`.
 *
 *	stat_open()	loads, attaches; counting begins
 *	stat_vcpu()	what is counted so far, in memory that BPF continues writing
 *	stat_stop()	detaches: from now on the counts stop changing
 *	stat_close()	frees
 */
#ifndef HOSTRACE_COLLECTOR_STAT_H
#define HOSTRACE_COLLECTOR_STAT_H

#include "statmap.h"
#include "vm/vm.h"

struct stat;

/* What a span is: on backends without kvm_exit only what went through the VMM is seen. */
enum stat_span {
	STAT_EXIT_TO_ENTRY,
	STAT_USERSPACE_EXIT,
};

/* Errors: -EPERM (the error message names the capability and how to grant it), -ENOTSUP, ... */
int stat_open(const struct vm *vm, struct stat **ret);

enum stat_span stat_span(const struct stat *s);

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

/* Exits of vCPUs that were plugged in after stat_open(): not counted anywhere else. */
uint64_t stat_missed(const struct stat *s);

void stat_stop(struct stat *s);
void stat_close(struct stat *s);

#endif
