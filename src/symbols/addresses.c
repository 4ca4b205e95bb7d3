// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "event/sample.h"
#include "symbols/addresses.h"
#include "symbols/symbols.h"
#include "symbols/symbol_map.h"

struct addresses {
	struct symbol_map *map; /* or */
	struct elf_names *elf;
};

static struct addresses *addresses_new(void)
{
	struct addresses *a = calloc(1, sizeof(*a));

	if (!a)
		fail(-ENOMEM, "out of memory");
	return a;
}

int addresses_open(const char *path, struct addresses **ret)
{
	_cleanup_(addresses_cleanup_) struct addresses *a = addresses_new();
	int err = a ? symbol_map_open(path, &a->map) : -ENOMEM;

	if (err == -ENOEXEC) /* not a symbol table: try it as an ELF file */
		err = elf_names_open(path, &a->elf);
	if (!err)
		*ret = take_ptr(a);
	return err;
}

int addresses_parse(const char *text, size_t len, const char *name, struct addresses **ret)
{
	_cleanup_(addresses_cleanup_) struct addresses *a = addresses_new();
	int err = a ? symbol_map_parse(text, len, name, &a->map) : -ENOMEM;

	if (!err)
		*ret = take_ptr(a);
	return err;
}

void addresses_close(struct addresses *a)
{
	if (!a)
		return;
	symbol_map_close(a->map);
	elf_names_close(a->elf);
	free(a);
}

const char *addresses_name(const struct addresses *a, uint64_t address)
{
	struct frame frame[FRAME_INLINES_MAX];

	if (a->map)
		return symbol_map_find(a->map, address);
	return elf_names_resolve(a->elf, address, false, frame) ? frame[0].name : NULL;
}
