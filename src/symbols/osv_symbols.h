/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for OSv's addresses, from the first source that was asked for:
 *   none (-x) · the .symbols file that was saved beside a tracefile (-S) · a table of a guest's
 * symbols, as /proc/kallsyms or System.map (--symbols FILE) · the guest's ELF file with its DWARF,
 * inlined functions included, as addr2line -i tells them (-e FILE) · for a dump, what its own
 * symbol tables know besides
 */
#ifndef HOSTRACE_OSV_SYMBOLS_H
#define HOSTRACE_OSV_SYMBOLS_H

#include "readers/osv/osv.h"

enum { OSV_INLINES_MAX = 64 };

struct osv_frame {
	uint64_t address;
	const char *name; /* NULL: unresolved. These strings live as long as the symbols. */
	const char *file; /* NULL: not known */
	int line;	  /* 0: not known */
};

struct osv_symbols_options {
	bool none, use_file, no_inlines;
	bool compat;	 /* the dump's tables are searched with the original's off-by-one rules */
	const char *map; /* --symbols: kallsyms, System.map, nm's output, or an ELF file */
	const char *elf; /* -e; NULL and neither of the above: build/release/loader.elf */
};

struct osv_symbols;

/* 0, or -errno with the sentence set (a missing ELF or .symbols file is an error, as in OSv's
 * tool). */
int osv_symbols_open(const struct osv_trace *t, const struct osv_symbols_options *opt,
		     struct osv_symbols **ret);
void osv_symbols_close(struct osv_symbols *s);
DEFINE_CLEANUP(osv_symbols, struct osv_symbols *, osv_symbols_close);

/* Frames of an address (a return address less 1), innermost first; at least one. */
unsigned int osv_symbols_resolve(struct osv_symbols *s, uint64_t address,
				 struct osv_frame ret[OSV_INLINES_MAX]);

/* ---- the sources, each in its file ---- */

struct elf_names;
int elf_names_open(const char *path, struct elf_names **ret);
/* A shared object that was loaded at base. */
int elf_names_open_at(const char *path, uint64_t base, struct elf_names **ret);
void elf_names_close(struct elf_names *e);
/* 0: the file does not know the address. */
unsigned int elf_names_resolve(struct elf_names *e, uint64_t address, bool inlines,
			       struct osv_frame ret[OSV_INLINES_MAX]);

#endif
