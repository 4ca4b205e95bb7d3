/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of addresses in a guest's modules (shared objects), by files of the host that --module names:
 *
 *   FILE              the module of the trace with this base name
 *   GUESTPATH=FILE    the one with this path in the guest
 *   FILE@0xBASE       for traces that do not say where their modules are: it was loaded there
 */
#ifndef HOSTRACE_MODULE_NAMES_H
#define HOSTRACE_MODULE_NAMES_H

#include "base/options.h"
#include "symbols/symbols.h"

struct module_names;

/* 0, or -errno with the error message set: also for a module that the trace does not have. */
int module_names_open(const struct sample_trace *t, const struct text_list *given,
		      struct module_names **ret);
void module_names_close(struct module_names *m);

/* As elf_names_resolve(); 0 also if none of the modules has the address. */
unsigned int module_names_resolve(struct module_names *m, uint64_t address, bool inlines,
				  struct frame ret[FRAME_INLINES_MAX]);

/* The file of the module that has the address; NULL: none has. */
struct elf_names *module_names_elf(struct module_names *m, uint64_t address);

/* The file in one of the above. Returns buf. */
const char *module_file(const char *given, char *buf, size_t size);

#endif
