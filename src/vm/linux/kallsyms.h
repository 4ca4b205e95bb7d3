/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The symbol tables of a Linux kernel (CONFIG_KALLSYMS) in a guest's RAM, from 4.19 to 7.x. Their layout is derived
 * from the tables themselves, without the kernel's version. In .rodata, in this order (scripts/kallsyms.c):
 *
 *   to 4.19    offsets, relative_base, num_syms, names, markers, token_table, token_index; num_syms and the markers
 *              have 8 bytes, from 4.20 on 4
 *   6.1        a name may have a length of 2 bytes (73bbb94466fd)
 *   6.2        + seqs_of_names between markers and token_table (60443c88f3a8)
 *   6.4        num_syms, names, markers, token_table, token_index, offsets, relative_base, seqs_of_names (404bad70fcf7)
 *   6.15       all offsets are unsigned, relative to the base (01157ddc58dc)
 *   7.0        no relative_base: an offset is relative to its own place (a081b5789255)
 *
 * Before 6.15, an offset below 0 means relative_base - 1 - offset, others are absolute: per-CPU symbols.
 */
#ifndef HOSTRACE_LINUX_KALLSYMS_H
#define HOSTRACE_LINUX_KALLSYMS_H

#include <stdio.h>

#include "vm/linux/tokens.h"

enum {
	KALLSYMS_MAX = 1 << 20,		     /* symbols; 190,000 are usual */
	KALLSYMS_NAMES_MAX = 64 << 20,	     /* bytes of all names */
	KALLSYMS_TABLE_BYTES_MAX = 16 << 20, /* of the compressed names and what follows up to the tokens */
	KALLSYM_NAME_MAX = 512,		     /* of one name, as in Linux since 6.1 */
};

/* The lowest address of a kernel's image, and where a 2 MiB page of physical address 0 would be without KASLR. */
#define LINUX_IMAGE_MAP UINT64_C(0xffffffff80000000)

enum kallsyms_layout {
	KALLSYMS_BEFORE_NAMES, /* to 6.3 */
	KALLSYMS_AFTER_TOKENS,
	KALLSYMS_SELF_RELATIVE, /* from 7.0 */
};

struct kallsym {
	uint64_t address;
	uint32_t name; /* in names */
	char type;
};

struct kallsyms {
	struct kallsym *symbol; /* as in the table: by address, mostly */
	size_t nr;
	char *names; /* C strings; a module's symbols are "NAME\t[MODULE]" */
	size_t names_bytes;
	enum kallsyms_layout layout;
	uint64_t table; /* offset of the token table */
};

/*
 * Reads the tables around the tokens. With KALLSYMS_SELF_RELATIVE the addresses are offsets in RAM until
 * kallsyms_move(). 0, -EBADMSG (no error message): the tables contradict each other; -ENOMEM. *ret is the caller's,
 * also on failure.
 */
int kallsyms_read(const struct linux_ram *r, const struct kallsyms_tokens *t, struct kallsyms *ret);
void kallsyms_deinit(struct kallsyms *k);

/* Adds delta to all addresses. */
void kallsyms_move(struct kallsyms *k, uint64_t delta);

/* As /proc/kallsyms has them. */
void kallsyms_write(const struct kallsyms *k, FILE *out);

/* The first symbol of this name. */
const struct kallsym *kallsyms_find(const struct kallsyms *k, const char *name);

static inline const char *kallsym_name(const struct kallsyms *k, const struct kallsym *s)
{
	return k->names + s->name;
}

/*
 * Adds a symbol; the name has len bytes and is sanitized, as is the module (NULL: of the image). -ENOMEM, -E2BIG with
 * the error message set.
 */
int kallsyms_add(struct kallsyms *k, uint64_t address, char type, const char *name, size_t len,
		 const char *module);

#endif
