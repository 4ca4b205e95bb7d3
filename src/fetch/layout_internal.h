/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For src/fetch/layout*.c only. */
#ifndef HOSTRACE_LAYOUT_INTERNAL_H
#define HOSTRACE_LAYOUT_INTERNAL_H

#include <elfutils/libdw.h>

#include "fetch/layout.h"

Dwarf *layout_dwarf(const struct layout *l); /* NULL: it has none */

/* The type of a member or variable, without typedefs and qualifiers. */
bool layout_type_of(Dwarf_Die *die, Dwarf_Die *ret);

/* Where a member is; false: an expression says it. */
bool layout_place(Dwarf_Die *member, uint64_t *ret);

/* "_attr._name", from a structure on. */
bool layout_path(Dwarf_Die *from, const char *path, uint64_t *place, Dwarf_Die *ret);

#endif
