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

#include "vm/guest_ram.h"

struct linux_ram {
	const struct memory *memory; /* borrowed */
	struct guest_ram at;
	int pagemap; /* /proc/PID/pagemap; -1: every page is there */
	uint64_t until_ns; /* monotonic_ns() at which a walk gives up; 0: never */
};

/* All or -EFAULT, without an error message. */
int linux_ram_read(const struct linux_ram *r, uint64_t offset, void *buf, size_t size);

/* Of the 4 KiB page at this offset: does the process have it? */
bool linux_ram_present(const struct linux_ram *r, uint64_t offset);

/*
 * Calls fn for what is there of [from, to), in order, in pieces that begin and end with pages or with the range. fn
 * returns 0 to continue; anything else ends the walk and is returned. -ETIMEDOUT (no error message), -ENOMEM.
 */
typedef int (*linux_piece_fn)(void *arg, uint64_t offset, const uint8_t *data, size_t size);
int linux_ram_walk(const struct linux_ram *r, uint64_t from, uint64_t to, linux_piece_fn fn,
		   void *arg);

enum {
	TOKENS = 256,
	TOKENS_BYTES_MAX = 12 << 10, /* of the strings; 1 KiB is usual */
};

struct kallsyms_tokens {
	uint64_t table; /* offset of the strings */
	uint64_t end;	/* offset of the index's end */
	uint16_t start[TOKENS + 1];
	char text[TOKENS_BYTES_MAX];
};

/*
 * The next table whose digits are in data, which was read at this offset, from *pos on; *pos is then at their end.
 * False: there is none.
 */
bool kallsyms_tokens_next(const struct linux_ram *r, uint64_t offset, const uint8_t *data,
			  size_t size, size_t *pos, struct kallsyms_tokens *ret);

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
