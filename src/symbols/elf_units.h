/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the compilation unit of an ELF file's DWARF that contains an address, for files without
 * .debug_aranges (clang writes none): a table of all units' ranges, built when it is first needed.
 */
#ifndef HOSTRACE_ELF_UNITS_H
#define HOSTRACE_ELF_UNITS_H

#include <elfutils/libdwfl.h>

#include "base/cleanup.h"

enum { ELF_UNIT_RANGES_MAX = 4 << 20 };

struct elf_units;

/* Never fails; if memory is short, no unit is found. */
struct elf_units *elf_units_open(Dwfl_Module *module);
void elf_units_close(struct elf_units *u);

/*
 * The unit's DIE, owned by the module, or NULL. The address minus *ret_bias is the address in the
 * DWARF.
 */
Dwarf_Die *elf_units_find(const struct elf_units *u, uint64_t address, Dwarf_Addr *ret_bias);

#endif
