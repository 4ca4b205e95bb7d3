/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of an OSv guest's threads, by the .eh_frame of its ELF file (libdwfl): it leads
 * through functions that have no frame pointer and out of interrupts. Where there is none, as in
 * applications, by frame pointers.
 */
#ifndef HOSTRACE_OSV_UNWIND_H
#define HOSTRACE_OSV_UNWIND_H

#include "fetch/osv_guest.h"

struct osv_unwind;

/* 0, or -errno with the error message set. */
int osv_unwind_open(const char *elf, struct osv_unwind **ret);
void osv_unwind_close(struct osv_unwind *u);

/* Of the modules, those in the image's manifests. elf: as in osv_unwind_open(). */
void osv_unwind_add(struct osv_unwind *u, const char *elf, const struct osv_modules *modules);

/* Where a thread is. */
struct osv_unwind_thread {
	uint64_t address, object_size; /* the object has the stack of its interrupts, too */
	uint64_t stack_begin, stack_size;
	const struct gdb_vcpu *vcpu; /* that runs it; NULL: by these registers, which it left */
	uint64_t rip, rsp, rbp;
};

/*
 * The address where it is, then return addresses less 1, innermost first; returns how many. What
 * cannot be read, or is outside of the thread's stacks, ends it.
 */
unsigned int osv_unwind(struct osv_unwind *u, struct osv_guest *g,
			const struct osv_unwind_thread *t, uint64_t *ret, unsigned int max);

#endif
