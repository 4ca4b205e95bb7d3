/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The loaded modules of a Linux guest, by the offsets that its BTF has. */
#ifndef HOSTRACE_LINUX_MODULES_H
#define HOSTRACE_LINUX_MODULES_H

#include "vm/linux/guest.h"

enum {
	LINUX_MODULES_MAX = 4096,
	MODULE_NAME_MAX = 64,		/* 56 in Linux */
	MODULE_SYMBOLS_MAX = 256 << 10, /* of one module */
	MODULE_EXPORTS_MAX = 64 << 10,
	MODULE_EXPORT_BYTES_MAX = 256, /* struct kernel_symbol; 12 in Linux */
	MODULE_ALIASES_MAX = 16,       /* exports of one address that are compared */
	MODULE_STRINGS_MAX = 16 << 20,
};

/*
 * Reads the kernel's BTF. -ENOENT: it has none (CONFIG_DEBUG_INFO_BTF); -EBADMSG: it is damaged; with the error message
 * set.
 */
int linux_types_read(struct linux_guest *g, struct btf_types *ret);

/*
 * Reads the BTF of a loaded module; kernel: the kernel's, which *ret refers to. -ENOENT: it has none, or is not loaded;
 * -EBADMSG; -ENOMEM; with the error message set. *ret is the caller's, also on failure.
 */
int linux_module_types_read(struct linux_guest *g, const struct btf_types *kernel,
			    const char *module, struct btf_types *ret);

/*
 * Adds the symbols of all modules to g->symbols, in the order of /proc/kallsyms. 0; -EAGAIN: the list of modules kept
 * changing, what was read last remains; -ENOENT: the BTF lacks a type; with the error message set.
 */
int linux_modules_symbols(struct linux_guest *g, const struct btf_types *types);

struct linux_module {
	char name[MODULE_NAME_MAX]; /* sanitized */
	uint64_t address, bytes;
	int used; /* by other modules and open files */
	const char *state; /* "Live", "Loading", "Unloading"; "-": unknown */
};

/* All modules, newest first; *ret is allocated, *ret_nr must be 0. Errors as linux_modules_symbols(). */
int linux_modules_read(struct linux_guest *g, const struct btf_types *types,
		       struct linux_module **ret, size_t *ret_nr);

/* BTF and symbols of modules. What could be read is in g->symbols, also on failure. */
int linux_modules_add(struct linux_guest *g);

#endif
