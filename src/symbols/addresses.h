/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names for the addresses in lists and tables, from a guest's /proc/kallsyms, a System.map, the output of nm, or an
 * ELF file. (Profiles, which also show inlined functions and lines, use
 * symbols/symbols.h.)
 */
#ifndef HOSTRACE_ADDRESSES_H
#define HOSTRACE_ADDRESSES_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct addresses;

/* -errno with the error message set: no such file, or neither a symbol table nor an ELF file. */
int addresses_open(const char *path, struct addresses **ret);

/* From a symbol table in memory, as symbol_map_parse(). */
int addresses_parse(const char *text, size_t len, const char *name, struct addresses **ret);

void addresses_close(struct addresses *a);
DEFINE_CLEANUP(addresses, struct addresses *, addresses_close);

/* The function that contains the address; NULL: unknown. Valid until addresses_close(). */
const char *addresses_name(const struct addresses *a, uint64_t address);

#endif
