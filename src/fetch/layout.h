/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The layout of a guest. */
#ifndef HOSTRACE_LAYOUT_H
#define HOSTRACE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "base/cleanup.h"

struct layout;

enum { LAYOUT_SAMPLE_BYTES = 256 }; /* of the constants, by which a guest is recognized */

/* 0, or -errno with the error message set. */
int layout_open(const char *elf, struct layout **ret);
void layout_close(struct layout *l);
DEFINE_CLEANUP(layout, struct layout *, layout_close);

/* Address of a symbol by its linker name; -ENOENT with the error message set. */
int layout_symbol(const struct layout *l, const char *name, uint64_t *ret);

/* The same with its size. */
int layout_symbol_sized(const struct layout *l, const char *name, uint64_t *ret,
			uint64_t *ret_size);

/* By its linker name, or by its name in C++: "memory::page_pool::percpu_l1". */
int layout_symbol_named(const struct layout *l, const char *name, uint64_t *ret);

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

/* ---- variables that each vCPU has of its own (layout_value.c) ---- */

enum { LAYOUT_VALUE_MAX = 64 << 10 }; /* bytes */

struct layout_type;
struct layout_variable {
	const char *name;
	uint64_t address; /* of the variable in the file */
	uint64_t offset;  /* of the value in it */
	size_t bytes;	  /* of the value */
	bool is_dynamic; /* dynamic_percpu: the word at offset_at is to be taken instead of the address */
	uint64_t offset_at;
	struct layout_type *type;
};

/*
 * A variable of type percpu<T> or dynamic_percpu<T>, or a member of it. -ENOENT, -EINVAL, -E2BIG with the error message
 * set; layout_variable_deinit() also then.
 */
int layout_percpu(struct layout *l, const char *name, const char *field,
		  struct layout_variable *ret);
void layout_variable_deinit(struct layout_variable *v);

/* What these bytes of a value mean; new reference. */
json_t *layout_value(const struct layout_variable *v, const void *bytes);

#endif
