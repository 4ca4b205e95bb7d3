// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "base/array.h"
#include "base/order.h"
#include "symbols/elf_units.h"

struct unit_range {
	Dwarf_Addr start, end;
	Dwarf_Die *unit;
};

struct elf_units {
	struct unit_range *range; /* sorted by start */
	size_t nr;
	Dwarf_Addr bias;
};

static bool range_add(struct elf_units *u, const struct unit_range *range)
{
	if (range->start >= range->end || u->nr == ELF_UNIT_RANGES_MAX)
		return u->nr < ELF_UNIT_RANGES_MAX;
	if (!(u->nr & (u->nr - 1))) {
		void *more = realloc(u->range, (u->nr ? 2 * u->nr : 1) * sizeof(*u->range));

		if (!more)
			return false;
		u->range = more;
	}
	u->range[u->nr++] = *range;
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct unit_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return order_u64(dwarf_dieoffset(x->unit), dwarf_dieoffset(y->unit));
}

struct elf_units *elf_units_open(Dwfl_Module *module)
{
	struct elf_units *u = calloc(1, sizeof(*u));
	Dwarf_Addr base;

	for (Dwarf_Die *unit = NULL; u && (unit = dwfl_module_nextcu(module, unit, &u->bias));) {
		struct unit_range range = {.unit = unit};

		for (ptrdiff_t at = 0;
		     (at = dwarf_ranges(unit, at, &base, &range.start, &range.end)) > 0;)
			if (!range_add(u, &range))
				break;
	}
	if (u && u->nr)
		qsort(u->range, u->nr, sizeof(*u->range), by_start);
	return u;
}

void elf_units_close(struct elf_units *u)
{
	if (!u)
		return;
	free(u->range);
	free(u);
}

Dwarf_Die *elf_units_find(const struct elf_units *u, uint64_t address, Dwarf_Addr *ret_bias)
{
	size_t lo = array_prefix(u ? u->nr : 0, i, u->range[i].start <= address - u->bias);

	if (!lo || u->range[lo - 1].end <= address - u->bias)
		return NULL;
	*ret_bias = u->bias;
	return u->range[lo - 1].unit;
}
