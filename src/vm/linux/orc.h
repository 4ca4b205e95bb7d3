/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ORC tables of a Linux guest's kernel and modules (Documentation/arch/x86/orc-unwinder.rst): how to find the
 * caller's frame, for each address of code.
 */
#ifndef HOSTRACE_LINUX_ORC_H
#define HOSTRACE_LINUX_ORC_H

#include "vm/linux/btf.h"
#include "vm/linux/guest.h"

enum {
	ORC_ENTRIES_MAX = 4 << 20, /* of one table; 400,000 are usual */
	ORC_ENTRY_BYTES_MAX = 16,
};

/* arch/x86/include/asm/orc_types.h: the same in all releases */
enum orc_reg {
	ORC_REG_UNDEFINED = 0,
	ORC_PREV_SP = 1,
	ORC_BP = 4,
	ORC_SP = 5,
	ORC_BP_INDIRECT = 8,
	ORC_SP_INDIRECT = 9,
};

enum orc_type { ORC_UNDEFINED, ORC_END, ORC_CALL, ORC_REGS, ORC_REGS_PARTIAL };

struct orc_entry {
	int16_t sp_offset, bp_offset;
	uint8_t sp_reg, bp_reg;
	bool is_signal; /* the frame's address is not a return address */
	enum orc_type type;
};

/* Sorted by address; each table has `nr` entries. */
struct orc_table {
	uint64_t ip, entry; /* addresses of its two parts */
	uint32_t nr;
	uint64_t first; /* address of code; the kernel's table begins with it */
};

struct orc_field {
	int bit, bits;
};

struct orc {
	struct linux_guest *g; /* borrowed */
	struct orc_table *table; /* of the image, then of modules; none: frame pointers; owned */
	size_t nr;
	int entry_bytes, sp_offset, bp_offset;
	struct orc_field sp_reg, bp_reg, type, signal, end;
};

/* 0: also without tables; -ENOENT: with tables whose layout the BTF lacks; -ENOMEM; with the error message set. */
int orc_open(struct linux_guest *g, const struct btf_types *types, struct orc *ret);
void orc_close(struct orc *o);

/* Where no table has the address, the entry for code with frame pointers. */
void orc_find(const struct orc *o, uint64_t address, struct orc_entry *ret);

#endif
