/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the addresses in backtraces: functions, including inlined ones, with file and line. From the first
 * source that was requested:
 *
 *   none            -x: only names that the trace itself has instead of addresses
 *   use_file        -S: the .symbols file that was saved with an OSv tracefile
 *   map             --symbols: a symbol table such as /proc/kallsyms or System.map, or an ELF file
 *   elf             -e: the guest's ELF file with its DWARF, inlined functions as addr2line -i prints them
 *
 * and for addresses that it does not contain, from the trace itself (struct sample_ops). Lists and tables, which show
 * one name for an address, use addresses.h.
 */
#ifndef HOSTRACE_SYMBOLS_H
#define HOSTRACE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/options.h"
#include "event/sample.h"

enum { FRAME_INLINES_MAX = 64 };

struct symbols_options {
	bool none, use_file, no_inlines;
	bool compat;	 /* the dump's tables are searched with the off-by-one rules of OSv's tool */
	const struct text_list *modules; /* --module (module_names.h); NULL: none */
	const char *map; /* --symbols: kallsyms, System.map, nm's output, or an ELF file */
	const char *root; /* --symfs: files of a host's code are looked for below it */
	const char *elf; /* -e; NULL and neither of the above: the trace's default, if it has one */
};

struct symbols;

/* 0, or -errno with the error message set. A missing ELF or .symbols file is an error, as in OSv's tool. */
int symbols_open(struct sample_trace *t, const struct symbols_options *opt, struct symbols **ret);
void symbols_close(struct symbols *s);
DEFINE_CLEANUP(symbols, struct symbols *, symbols_close);

/* Frames of an address (a return address less 1), innermost first; at least one. */
unsigned int symbols_resolve(struct symbols *s, uint64_t address,
			     struct frame ret[FRAME_INLINES_MAX]);

/* ---- the sources, each in its file ---- */

struct elf_names;
int elf_names_open(const char *path, struct elf_names **ret);
/* A shared object that was loaded at base. */
int elf_names_open_at(const char *path, uint64_t base, struct elf_names **ret);
void elf_names_close(struct elf_names *e);
/* 0: the file does not contain the address. */
unsigned int elf_names_resolve(struct elf_names *e, uint64_t address, bool inlines,
			       struct frame ret[FRAME_INLINES_MAX]);
/* The symbol that contains the address, demangled, or NULL: the function whose code it is, inlined
 * ones included. */
const char *elf_names_symbol(struct elf_names *e, uint64_t address);
/*
 * The address of what is at this offset in the file, as its program headers say; false: nothing is loaded from there.
 */
bool elf_names_of_offset(const struct elf_names *e, uint64_t offset, uint64_t *ret);
/* The bytes of its build id that fit; 0: it has none. */
size_t elf_names_build_id(const struct elf_names *e, uint8_t *ret, size_t size);

/* Relative to the folder that the file's first unit was compiled in, or to one that the path leads
 * up to. */
const char *elf_names_short_path(const struct elf_names *e, const char *file);

struct addresses;

/* -errno with the error message set: no such file, or neither a symbol table nor an ELF file. */
int addresses_open(const char *path, struct addresses **ret);

/* From a symbol table in memory, as symbol_map_parse(). */
int addresses_parse(const char *text, size_t len, const char *name, struct addresses **ret);

void addresses_close(struct addresses *a);
DEFINE_CLEANUP(addresses, struct addresses *, addresses_close);

/* The function that contains the address; NULL: unknown. Valid until addresses_close(). */
const char *addresses_name(struct addresses *a, uint64_t address);

/* How many addresses it was asked for, if it had a name for none of them. */
uint64_t addresses_without_name(const struct addresses *a);

#endif
