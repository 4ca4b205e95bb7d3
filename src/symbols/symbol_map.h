/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of addresses from a symbol table. */
#ifndef HOSTRACE_SYMBOL_MAP_H
#define HOSTRACE_SYMBOL_MAP_H

#include <elfutils/libdwfl.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

enum {
	SYMBOL_MAP_MAX = 4 << 20,     /* symbols of one table */
	SYMBOL_MAP_BYTES = 512 << 20, /* of a file */
	SYMBOL_REACH = 1 << 20,	      /* an address further from a symbol does not belong to it */
};

struct symbol_map;

/*
 * -ENOEXEC: not a symbol table but an ELF file. -EBADMSG: no usable line; -ENOENT, ... All with the error message set.
 */
int symbol_map_open(const char *path, struct symbol_map **ret);

/* The same from an open file, which stays open. */
int symbol_map_read(int fd, const char *name, struct symbol_map **ret);

/* The same from text in memory; `name` is for messages. The text is copied. */
int symbol_map_parse(const char *text, size_t len, const char *name, struct symbol_map **ret);
void symbol_map_close(struct symbol_map *m);
DEFINE_CLEANUP(symbol_map, struct symbol_map *, symbol_map_close);

/* NULL: none. The name is sanitized, is followed by its module in brackets, and is valid as long as the map. */
const char *symbol_map_find(const struct symbol_map *m, uint64_t address);

/* The same, and from where to where it extends: to the next symbol, the last one to the address. */
const char *symbol_map_range(const struct symbol_map *m, uint64_t address, uint64_t *ret_start,
			     uint64_t *ret_end);

#endif
