/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest's memory in a file: what QEMU's dump-guest-memory (virsh dump --memory-only) writes, an ELF file whose
 * segments are guest physical memory, with the registers of each vCPU in notes; or a core dump of the VM's process,
 * whose segments are the process's mappings, without registers of the guest.
 */
#ifndef HOSTRACE_GUEST_DUMP_H
#define HOSTRACE_GUEST_DUMP_H

#include "fetch/gdb.h"
#include "vm/guest_ram.h"

enum { DUMP_SEGMENTS_MAX = 1 << 20 };

struct dump_segment {
	uint64_t address, size, offset; /* the last one in the file */
};

struct dump_vcpu {
	struct gdb_vcpu registers;
	uint64_t cr3; /* 0: paging is off */
};

struct guest_dump {
	struct memory memory;	      /* by addresses of the segments */
	struct dump_segment *segment; /* by address, without overlap */
	size_t nr_segments;
	struct guest_slot
		*slot; /* of a guest's own dump, whose addresses are physical; NULL: of a process */
	struct dump_vcpu *vcpu;
	unsigned int nr_vcpus;
	uint64_t cut_bytes; /* that the file should have, and does not */
};

/* 0, or -errno with the error message set. To be closed in both cases, and only where it was opened: no copies. */
int guest_dump_open(const char *path, struct guest_dump *ret);
void guest_dump_close(struct guest_dump *d);

#endif
