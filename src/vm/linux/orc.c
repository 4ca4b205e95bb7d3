// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "vm/linux/modules.h"
#include "vm/linux/orc.h"

enum { OLD_TYPE_BITS = 2 }; /* to 6.3: call, registers, partial registers; the end has a bit of its own */

static const struct orc_entry frame_pointers = {.sp_offset = 16,
						.bp_offset = -16,
						.sp_reg = ORC_BP,
						.bp_reg = ORC_PREV_SP,
						.type = ORC_CALL};

static struct orc_field field_find(const struct btf_types *t, const char *name)
{
	struct orc_field f = {.bits = 0};

	f.bit = btf_bitfield(t, "orc_entry", name, &f.bits);
	return f;
}

static bool field_fits(const struct orc *o, const struct orc_field *f)
{
	return f->bits > 0 && f->bits <= 8 && f->bit >= 0 &&
	       f->bit + f->bits <= o->entry_bytes * 8;
}

static int layout_find(const struct btf_types *t, struct orc *o)
{
	o->entry_bytes = btf_size(t, "orc_entry");
	o->sp_offset = btf_offset(t, "orc_entry", "sp_offset");
	o->bp_offset = btf_offset(t, "orc_entry", "bp_offset");
	o->sp_reg = field_find(t, "sp_reg");
	o->bp_reg = field_find(t, "bp_reg");
	o->type = field_find(t, "type");
	o->signal = field_find(t, "signal"); /* since 6.3 */
	o->end = field_find(t, "end");	     /* to 6.3 */
	if (o->entry_bytes <= 0 || o->entry_bytes > ORC_ENTRY_BYTES_MAX || o->sp_offset < 0 ||
	    o->bp_offset < 0 || o->sp_offset > o->entry_bytes - 2 ||
	    o->bp_offset > o->entry_bytes - 2 || !field_fits(o, &o->sp_reg) ||
	    !field_fits(o, &o->bp_reg) || !field_fits(o, &o->type))
		return fail(-ENOENT, "the guest kernel's BTF has no usable struct orc_entry");
	return 0;
}

/* ---- tables ---- */

static bool ip_read(const struct orc *o, const struct orc_table *t, uint32_t i, uint64_t *ret)
{
	uint64_t at = t->ip + 4 * (uint64_t)i;
	uint32_t offset;

	if (linux_read_u32(o->g, at, &offset))
		return false;
	*ret = at + (uint64_t)(int64_t)(int32_t)offset;
	return true;
}

static int table_add(struct orc *o, uint64_t ip, uint64_t entry, uint64_t nr)
{
	struct orc_table t = {.ip = ip, .entry = entry, .nr = (uint32_t)nr};

	if (!nr || nr > ORC_ENTRIES_MAX || !ip_read(o, &t, 0, &t.first))
		return 0;
	if (array_room(o->table, o->nr))
		return -ENOMEM;
	o->table[o->nr++] = t;
	return 0;
}

/* Modules that cannot be read are left out. */
static int modules_add(struct orc *o, const struct btf_types *types)
{
	int nr_at = btf_offset(types, "module", "arch.num_orcs");
	int ip_at = btf_offset(types, "module", "arch.orc_unwind_ip");
	int entry_at = btf_offset(types, "module", "arch.orc_unwind");
	int list = btf_offset(types, "module", "list"), err;
	uint64_t head = linux_symbol(o->g, "modules"), ip, entry;
	_cleanup_free_ uint64_t *at = NULL;
	size_t nr_modules = 0;
	uint32_t nr;

	if (!head || nr_at < 0 || ip_at < 0 || entry_at < 0 || list < 0)
		return 0;
	err = linux_list_read(o->g, head, LINUX_MODULES_MAX, &at, &nr_modules);
	err = err == -EAGAIN ? 0 : err;
	for (size_t i = 0; i < nr_modules && !err; i++) {
		uint64_t module = at[i] - (uint64_t)list;

		if (!linux_read_u32(o->g, module + (uint64_t)nr_at, &nr) &&
		    !linux_read_u64(o->g, module + (uint64_t)ip_at, &ip) &&
		    !linux_read_u64(o->g, module + (uint64_t)entry_at, &entry))
			err = table_add(o, ip, entry, nr);
	}
	return err;
}

int orc_open(struct linux_guest *g, const struct btf_types *types, struct orc *ret)
{
	uint64_t start = linux_symbol(g, "__start_orc_unwind_ip");
	uint64_t stop = linux_symbol(g, "__stop_orc_unwind_ip");
	uint64_t entry = linux_symbol(g, "__start_orc_unwind");
	int err;

	*ret = (struct orc){.g = g};
	if (!start || !entry) /* CONFIG_UNWINDER_FRAME_POINTER */
		return 0;
	err = layout_find(types, ret);
	stop = stop ? stop : entry; /* which follows, and has the name of both */
	if (!err && stop > start)
		err = table_add(ret, start, entry, (stop - start) / 4);
	return err ? err : modules_add(ret, types);
}

void orc_close(struct orc *o)
{
	free(o->table);
	*o = (struct orc){0};
}

/* ---- entries ---- */

static unsigned int field_of(const uint8_t *raw, const struct orc_field *f)
{
	unsigned int v = 0;

	for (int i = 0; i < f->bits; i++)
		v |= (raw[(f->bit + i) / 8] >> (f->bit + i) % 8 & 1u) << i;
	return v;
}

static enum orc_type type_of(const struct orc *o, const uint8_t *raw, uint8_t sp_reg)
{
	unsigned int type = field_of(raw, &o->type);

	if (o->type.bits > OLD_TYPE_BITS)
		return type <= ORC_REGS_PARTIAL ? (enum orc_type)type : ORC_UNDEFINED;
	if (sp_reg == ORC_REG_UNDEFINED)
		return !field_fits(o, &o->end) || field_of(raw, &o->end) ? ORC_END : ORC_UNDEFINED;
	return type <= 2 ? (enum orc_type)(ORC_CALL + type) : ORC_UNDEFINED;
}

static void entry_parse(const struct orc *o, const uint8_t *raw, struct orc_entry *ret)
{
	*ret = (struct orc_entry){
		.sp_offset = (int16_t)memory_le(raw + o->sp_offset, 2),
		.bp_offset = (int16_t)memory_le(raw + o->bp_offset, 2),
		.sp_reg = (uint8_t)field_of(raw, &o->sp_reg),
		.bp_reg = (uint8_t)field_of(raw, &o->bp_reg),
		.is_signal = field_fits(o, &o->signal) && field_of(raw, &o->signal),
	};
	ret->type = type_of(o, raw, ret->sp_reg);
}

/* The last entry that is not above the address; module tables are disjoint. */
static bool table_find(const struct orc *o, const struct orc_table *t, uint64_t address,
		       uint32_t *ret)
{
	uint32_t from = 0, to = t->nr;
	uint64_t ip;

	while (from < to) {
		uint32_t middle = from + (to - from) / 2;

		if (!ip_read(o, t, middle, &ip))
			return false;
		if (ip <= address)
			from = middle + 1;
		else
			to = middle;
	}
	*ret = from - 1;
	return from;
}

void orc_find(const struct orc *o, uint64_t address, struct orc_entry *ret)
{
	const struct orc_table *t = NULL;
	uint8_t raw[ORC_ENTRY_BYTES_MAX];
	uint32_t i;

	*ret = frame_pointers;
	for (size_t n = 0; n < o->nr; n++)
		if (o->table[n].first <= address && (!t || o->table[n].first > t->first))
			t = &o->table[n];
	if (t && table_find(o, t, address, &i) &&
	    !linux_read(o->g, t->entry + (uint64_t)i * (uint64_t)o->entry_bytes, raw,
			(size_t)o->entry_bytes))
		entry_parse(o, raw, ret);
}
