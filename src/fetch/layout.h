/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of a guest. */
#ifndef HOSTRACE_LAYOUT_H
#define HOSTRACE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct layout;

enum { LAYOUT_SAMPLE_BYTES = 256 }; /* of the constants, by which a guest is recognized */

/* 0, or -errno with the error message set. */
int layout_open(const char *elf, struct layout **ret);
void layout_close(struct layout *l);
DEFINE_CLEANUP(layout, struct layout *, layout_close);

/* Address of a symbol by its linker name; -ENOENT with the error message set. */
int layout_symbol(const struct layout *l, const char *name, uint64_t *ret);

/* Where the file's segments put this address in physical memory. -ENOENT: in none. */
int layout_physical(const struct layout *l, uint64_t address, uint64_t *ret);

/*
 * Where a variable of the kernel with the storage class __thread is, relative to the base of %fs
 * (x86-64's TLS, variant II: the block ends there). -ENOENT with the error message set.
 */
int layout_thread_local(const struct layout *l, const char *name, int64_t *ret);

/* The name of the symbol that begins at exactly this address, or NULL; valid as long as l. */
const char *layout_symbol_at(const struct layout *l, uint64_t address);

/* The first bytes of the file's constants (.rodata), and where they are in the guest. -ENODATA. */
int layout_constants(const struct layout *l, uint64_t *ret_address, void *ret, size_t len);

/* A member of a structure: "sched::thread", "_attr._name". */
struct layout_member {
	const char *type, *path;
	uint32_t *offset; /* set where it is found */
	uint32_t *size;	  /* bytes; may be NULL */
};

/*
 * Finds all of them in one pass over the DWARF. -ENOENT with the error message set (which one is
 * missing), -ENODATA: the file has no DWARF.
 */
int layout_members(struct layout *l, const struct layout_member *m, size_t nr);

/* Size of a structure that layout_members() met; 0: it did not. */
uint64_t layout_size(const struct layout *l, const char *type);

/* The name of an enumeration's value, or NULL; the enumeration is found by its full name. */
const char *layout_enum(struct layout *l, const char *type, int64_t value);

#endif
