// SPDX-License-Identifier: GPL-2.0-or-later
/* The cells of the heat map of exits as arrays of arrays: what the script needs to show the exits of a cell. */

#include "base/json_text.h"
#include "output/report.h"
#include "output/report/page.h"

static json_t *span_json(const struct grid_span *s, const struct vm_names *vms)
{
	char reason[VM_NAME_BYTES], who[VM_NAME_BYTES], vm[VM_NAME_BYTES];
	json_t *one = json_array();

	json_array_append_new(one, json_u64(s->start_ns));
	json_array_append_new(one, json_u64(s->end_ns - s->start_ns));
	json_array_append_new(one,
			      s->vcpu == RECORD_NO_VCPU ? json_null() : json_integer(s->vcpu));
	json_array_append_new(
		one, json_text(blame_reason_print(s->reason, s->isa, reason, sizeof(reason))));
	json_array_append_new(one, json_integer(s->cause));
	json_array_append_new(one,
			      json_text(blame_who_print(s->cause, &s->who, who, sizeof(who))));
	if (vms)
		json_array_append_new(one, json_text(vm_name(vms, s->pid, vm, sizeof(vm))));
	return one;
}

static json_t *cell_json(const struct blame_grid *g, unsigned int x, unsigned int y,
			 const struct vm_names *vms, unsigned int nr_spans)
{
	const struct grid_cell *c = &g->cell[y * g->nr_columns + x];
	json_t *causes = json_array(), *spans = json_array();

	for (unsigned int i = 0; i < BLAME_CAUSES; i++)
		if (c->causes[i])
			json_array_append_new(causes,
					      json_pack("[i,o]", (int)i, json_u64(c->causes[i])));
	for (unsigned int i = 0; i < c->nr_spans && i < nr_spans; i++)
		json_array_append_new(spans, span_json(&c->span[i], vms));
	return json_pack("[i,i,I,o,o]", (int)x, (int)y, (json_int_t)c->exits, causes, spans);
}

static json_t *offsets_json(const struct blame_grid *g)
{
	json_t *cells = json_array();

	for (unsigned int y = 0; y < OFFSET_ROWS; y++) {
		json_t *row = json_array();

		for (unsigned int x = 0; x < g->offset_columns; x++)
			json_array_append_new(row, json_u64(g->offset[y][x]));
		json_array_append_new(cells, row);
	}
	return json_pack("{s:I,s:I,s:i,s:o}", "t0_ns", (json_int_t)(g->first_s * 1000000000),
			 "column_ns", (json_int_t)(g->seconds * 1000000000), "row_ns",
			 1000000000 / OFFSET_ROWS, "cells", cells);
}

static json_t *make(const struct blame_grid *g, const struct vm_names *vms, unsigned int nr_spans)
{
	json_t *causes = json_array(), *cells = json_array();
	uint64_t exits = 0;

	for (unsigned int i = 0; i < BLAME_CAUSES; i++)
		json_array_append_new(causes, json_string(blame_cause_names[i]));
	for (unsigned int y = 0; y < g->nr_rows; y++)
		for (unsigned int x = 0; x < g->nr_columns; x++) {
			exits += g->cell[y * g->nr_columns + x].exits;
			if (g->cell[y * g->nr_columns + x].exits)
				json_array_append_new(cells, cell_json(g, x, y, vms, nr_spans));
		}
	return json_pack("{s:o,s:I,s:I,s:i,s:o,s:o}", "causes", causes, "exits", (json_int_t)exits,
			 "outside", (json_int_t)g->outside,
			 "spans_per_cell", (int)nr_spans, "cells", cells, "offsets",
			 offsets_json(g));
}

json_t *blame_grid_json(const struct blame_grid *g, const struct vm_names *vms, size_t max)
{
	for (unsigned int nr_spans = GRID_SPANS;; nr_spans--) {
		json_t *all = make(g, vms, nr_spans);

		if (!all || !nr_spans || page_json_bytes(all) <= max)
			return all;
		json_decref(all);
	}
}
