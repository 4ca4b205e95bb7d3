/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_OSV_NAMES_H
#define HOSTRACE_OSV_NAMES_H

#include "fetch/osv_guest.h"
#include "symbols/symbols.h"

struct osv_names;

/* 0, or -errno with the error message set. The modules are borrowed; the files of some may be
 * missing. */
int osv_names_open(const char *elf, const struct osv_modules *modules, struct osv_names **ret);
void osv_names_close(struct osv_names *n);
DEFINE_CLEANUP(osv_names, struct osv_names *, osv_names_close);

enum osv_name {
	OSV_NAME_INNERMOST, /* the innermost function, which may be inlined */
	OSV_NAME_FRAME,	 /* the function whose code it is, at the call of what is inlined there: as
			    gdb's frames */
	OSV_NAME_SYMBOL, /* the function whose code it is, at the innermost line: as gdb's "info
			    symbol" and "info line" */
};

/* The file's path is relative to the source tree where it is in it. False: nothing is known of the
 * address. */
bool osv_names_find(struct osv_names *n, uint64_t address, enum osv_name what, struct frame *ret);

#endif
