// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of addresses from the tables in a dump: symbols, segments of modules, modules. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "readers/osv/osv_private.h"

struct osv_made_name {
	struct osv_made_name *next;
	char text[];
};

static int by_start(const void *a, const void *b)
{
	const struct osv_symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->nr < y->nr ? -1 : x->nr > y->nr;
}

void osv_tables_sort(struct osv_trace *t)
{
	for (int i = 0; i < OSV_TABLES; i++)
		if (t->table[i].nr)
			qsort(t->table[i].symbol, t->table[i].nr, sizeof(*t->table[i].symbol),
			      by_start);
}

void osv_tables_free(struct osv_trace *t)
{
	for (int i = 0; i < OSV_TABLES; i++) {
		for (unsigned int k = 0; k < t->table[i].nr; k++) {
			free(t->table[i].symbol[k].name);
			free(t->table[i].symbol[k].file);
		}
		free(t->table[i].symbol);
	}
	while (t->made_names) {
		struct osv_made_name *m = t->made_names;

		t->made_names = m->next;
		free(m);
	}
}

/*
 * The last symbol that begins at or before the address. With `compat`, as in the original's search, the one that
 * begins before it, and never the first of a table.
 */
static const struct osv_symbol *table_find(const struct osv_table *table, uint64_t address,
					   bool compat)
{
	size_t lo = array_prefix(table->nr, i,
				 compat ? table->symbol[i].address < address
					: table->symbol[i].address <= address);

	if (lo < (compat ? 2u : 1u))
		return NULL;
	const struct osv_symbol *f = &table->symbol[lo - 1];

	return address - f->address < f->size ? f : NULL;
}

static const char *name_make(struct osv_trace *t, const struct osv_symbol *f, uint64_t address)
{
	size_t size = strlen(f->name) + 64;
	struct osv_made_name *m = malloc(sizeof(*m) + size);

	if (!m)
		return f->name;
	snprintf(m->text, size, "%s+0x%" PRIx64 " (0x%06" PRIx64 ")", f->name, address - f->address,
		 address);
	m->next = t->made_names;
	t->made_names = m;
	return m->text;
}

unsigned int osv_tables_resolve(struct sample_trace *base, uint64_t address,
				const struct sample_resolve *how, struct frame *ret)
{
	struct osv_trace *t = (struct osv_trace *)base;

	for (int i = 0; i < OSV_TABLES && !how->none && !how->no_file; i++) {
		const struct osv_symbol *f = table_find(&t->table[i], address, how->compat);

		if (!f)
			continue;
		*ret = (struct frame){address, name_make(t, f, address), f->file, 0};
		return 1;
	}
	return 0;
}
