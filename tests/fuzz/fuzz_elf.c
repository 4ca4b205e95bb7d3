// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF file with DWARF, as given for a guest: names of addresses, and the layout of structures. elfutils reads the
 * file; what it returns is used here.
 */
/* Names that libdw makes: the C library keeps no frame pointer, so that vasprintf()'s callers are not found. */
#define LSAN_MORE "\nleak:vasprintf"

#include "fetch/guest_dump.h"
#include "fetch/layout.h"
#include "lsan.h"
#include "symbols/code_function.h"
#include "symbols/symbols.h"
#include "walk.h"

enum { ADDRESSES = 64, STEP = 5, FIRST = 0x401000 };

static void names_walk(const char *path)
{
	struct frame frames[FRAME_INLINES_MAX];
	struct elf_names *e;
	struct code_function function;
	uint8_t code[64];

	if (elf_names_open(path, &e))
		return;
	for (unsigned int i = 0; i < ADDRESSES; i++) {
		unsigned int nr = elf_names_resolve(e, FIRST + i * STEP, i & 1, frames);

		if (nr > FRAME_INLINES_MAX)
			abort();
		for (unsigned int k = 0; k < nr; k++)
			if (frames[k].name && strlen(frames[k].name) > 1 << 24)
				abort();
		if (nr && frames[0].file)
			elf_names_short_path(e, frames[0].file);
		elf_names_symbol(e, FIRST + i * STEP);
		if (elf_names_function(e, FIRST + i * STEP, &function))
			elf_names_code(e, function.elf_start, code, sizeof(code));
	}
	if (elf_names_is_x86(e) && elf_names_function_named(e, "main", &function) &&
	    elf_names_code(e, function.elf_start, code, sizeof(code)) > sizeof(code))
		abort();
	elf_names_close(e);
}

static void value_walk(struct layout *l)
{
	static const uint8_t zero[LAYOUT_VALUE_MAX];
	struct layout_variable v;

	if (!layout_percpu(l, "work", NULL, &v))
		json_decref(layout_value(&v, zero));
	layout_variable_deinit(&v);
}

static void layout_walk(const char *path)
{
	struct layout *l;
	uint32_t offset, size, other;
	uint64_t address;
	int64_t from_fs;
	uint8_t bytes[16];
	const struct layout_member members[] = {{"thread", "name", &offset, &size},
						{"thread", "inner.id", &other, NULL}};

	if (layout_open(path, &l))
		return;
	if (!layout_symbol(l, "work", &address))
		layout_symbol_at(l, address);
	layout_thread_local(l, "work", &from_fs);
	layout_physical(l, FIRST, &address);
	layout_constants(l, &address, bytes, sizeof(bytes));
	if (!layout_members(l, members, sizeof(members) / sizeof(members[0])))
		layout_size(l, "thread");
	layout_enum(l, "state", 1);
	value_walk(l);
	layout_close(l);
}

static void dump_walk(const char *path)
{
	struct guest_dump d;
	uint8_t bytes[64];

	if (!guest_dump_open(path, &d))
		for (size_t i = 0; i < d.nr_segments && i < ADDRESSES; i++)
			memory_read(&d.memory, d.segment[i].address + d.segment[i].size - 32, bytes,
				    sizeof(bytes));
	guest_dump_close(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = walk_path(data, size);

	names_walk(path);
	layout_walk(path);
	dump_walk(path);
	return 0;
}
