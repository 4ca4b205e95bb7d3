// SPDX-License-Identifier: GPL-2.0-or-later
/* One analysis with four sinks: the grid behind the heat map, the slowest exits, and sums by vCPU and by VM. */
#include "base/json_text.h"
#include "reports/page_blame.h"

#include <errno.h>

#include "base/error.h"
#include "output/report/page.h"
#include "reports/blame.h"

struct page_blame {
	struct blame_grid grid;
	struct blame_summary slowest, by_vcpu, by_vm;
	struct blame_sinks sinks;
	struct blame *blame;
};

/* The heat map's columns and rows. False: there is no cell. */
static bool grid_of(const json_t *heatmap, struct blame_grid *ret)
{
	const json_t *map = json_object_get(heatmap, "result"),
		     *rows = json_object_get(map, "rows"), *cells = json_object_get(map, "cells"),
		     *row;
	size_t nr = json_array_size(rows), columns = json_array_size(json_array_get(cells, 0)), i;

	ret->t0_ns = (uint64_t)number_of(map, "t0_ns");
	ret->column_ns = (uint64_t)number_of(map, "column_ns");
	ret->nr_columns = (unsigned int)columns;
	ret->nr_rows = (unsigned int)nr;
	if (!nr || nr > GRID_ROWS_MAX || !columns || columns > GRID_COLUMNS_MAX || !ret->column_ns)
		return false;
	json_array_foreach (rows, i, row) {
		ret->lo_ns[i] = (uint64_t)number_of(row, "lo_ns");
		ret->lo_ns[i + 1] = (uint64_t)number_of(row, "hi_ns");
	}
	return true;
}

static void page_blame_init(struct page_blame *p, const struct result *r)
{
	void *arg = (void *)r->query->input;
	bool (*selects)(void *, const struct blame_exit *) =
		blame_all_selected(arg) ? NULL : blame_exit_selected;

	p->grid = (struct blame_grid){.selects = selects, .arg = arg};
	p->slowest = (struct blame_summary){.keep = PAGE_SLOWEST, .selects = selects, .arg = arg};
	p->by_vcpu = (struct blame_summary){
		.by = {.vcpu = true}, .since_ns = r->in->since_ns, .keep = 1, .selects = selects,
		.arg = arg};
	p->by_vm = p->by_vcpu;
	p->by_vm.by.vm = true;
}

static int grid_open(struct page_blame *p, const json_t *heatmap)
{
	return grid_of(heatmap, &p->grid) ? blame_grid_open(&p->grid) : 0;
}

static int page_blame_open(struct result *r)
{
	const struct page_blame_query *q = r->query->of;
	struct page_blame *p = r->state;
	struct blame_sink all;
	const json_t *heatmap;
	int err = q->heatmap(q->arg, &heatmap);

	if (err)
		return err;
	page_blame_init(p, r);
	err = grid_open(p, heatmap);
	if (err)
		return err;
	p->sinks.to[p->sinks.nr++] = blame_summary_sink(&p->slowest);
	p->sinks.to[p->sinks.nr++] = blame_summary_sink(&p->by_vcpu);
	p->sinks.to[p->sinks.nr++] = blame_summary_sink(&p->by_vm);
	if (p->grid.cell)
		p->sinks.to[p->sinks.nr++] = blame_grid_sink(&p->grid);
	all = blame_sinks_sink(&p->sinks);
	p->blame = blame_begin(r, &all);
	return p->blame ? 0 : -ENOMEM;
}

static int page_blame_feed(void *state, const struct event *ev)
{
	return blame_event(((struct page_blame *)state)->blame, ev);
}

static int page_blame_end(struct result *r)
{
	struct page_blame *p = r->state;
	int err = blame_end(p->blame);

	if (!err)
		err = blame_summary_end(&p->slowest);
	if (!err)
		err = blame_summary_end(&p->by_vcpu);
	return err ? err : blame_summary_end(&p->by_vm);
}

static void page_blame_close(struct result *r)
{
	struct page_blame *p = r->state;

	blame_free(p->blame);
	blame_summary_free(&p->slowest);
	blame_summary_free(&p->by_vcpu);
	blame_summary_free(&p->by_vm);
	blame_grid_close(&p->grid);
}

static int summary_tree(const struct result *r, const struct blame_summary *s, json_t **ret)
{
	const struct page_blame *p = r->state;
	struct output out = {.format = "tree", .tree = ret};

	return blame_summary_write(r, p->blame, s, &(struct blame_query){0}, &out);
}

int page_blame_slowest(struct result *r, json_t **ret)
{
	return summary_tree(r, &((struct page_blame *)r->state)->slowest, ret);
}

int page_blame_by_vcpu(struct result *r, bool several_vms, json_t **ret)
{
	const struct page_blame *p = r->state;

	return summary_tree(r, several_vms ? &p->by_vm : &p->by_vcpu, ret);
}

int page_blame_moments(struct result *r, size_t max, json_t **ret)
{
	const struct page_blame *p = r->state;

	*ret = p->grid.cell ? blame_grid_json(&p->grid, result_vms(r), max) : NULL;
	return p->grid.cell && !*ret ? fail(-ENOMEM, "out of memory") : 0;
}

static int page_blame_write(struct result *r, const struct output *out)
{
	return blame_summary_write(r, ((struct page_blame *)r->state)->blame,
				   &((struct page_blame *)r->state)->slowest,
				   &(struct blame_query){0}, out);
}

const struct report_ops page_blame_report = {
	.reads = BLAME_READS,
	.state_bytes = sizeof(struct page_blame),
	.wants = blame_wants,
	.open = page_blame_open,
	.event = page_blame_feed,
	.end = page_blame_end,
	.write = page_blame_write,
	.close = page_blame_close,
};
