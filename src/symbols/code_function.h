/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a function's code is: for `annotate`, which shows its instructions. */
#ifndef HOSTRACE_CODE_FUNCTION_H
#define HOSTRACE_CODE_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_names;
struct symbols;

enum { CODE_FUNCTION_MAX = 1 << 20 }; /* bytes of one that are read */

struct code_function {
	const char *name;	/* belongs to the source of the symbol */
	const char *dso;	/* the file, without folders; "[kernel]"; NULL: unknown */
	uint64_t start, size;	/* of the addresses that were asked for */
	struct elf_names *elf;	/* borrowed: has its code and lines; NULL: none has */
	uint64_t elf_start;	/* ... where it begins there */
};

/* The function whose symbol contains the address; false: there is none. A symbol without a size ends at the next. */
bool elf_names_function(struct elf_names *e, uint64_t address, struct code_function *ret);

/* The function of this name, as the symbol table has it. */
bool elf_names_function_named(struct elf_names *e, const char *name, struct code_function *ret);

/* The addresses of code with this name, as the symbol table has it. Returns their number, at most `max`. */
size_t elf_names_addresses(struct elf_names *e, const char *name, uint64_t *ret, size_t max);

/* Copies code for x86-64 from an address on. Returns the bytes; 0: the file does not have it. */
size_t elf_names_code(struct elf_names *e, uint64_t address, uint8_t *ret, size_t size);
bool elf_names_is_x86(const struct elf_names *e);

/* By what names the addresses (symbols.h); without an ELF file there is no code. */
bool symbols_function(struct symbols *s, uint64_t address, struct code_function *ret);

#endif
