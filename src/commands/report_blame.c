// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/report_blame.h"

#include <errno.h>

#include "base/error.h"
#include "commands/blame_answer.h"
#include "commands/common/blame_filter.h"
#include "commands/common/section.h"
#include "commands/common/symbol_options.h"
#include "output/report/grid_json.h"

static uint64_t number(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

/* False: there is no cell. */
static bool grid_of(const json_t *heatmap, struct blame_grid *ret)
{
	const json_t *map = json_object_get(heatmap, "result"),
		     *rows = json_object_get(map, "rows"), *cells = json_object_get(map, "cells"),
		     *row;
	size_t nr = json_array_size(rows), columns = json_array_size(json_array_get(cells, 0)), i;

	*ret = (struct blame_grid){.t0_ns = number(map, "t0_ns"),
				   .column_ns = number(map, "column_ns"),
				   .nr_columns = (unsigned int)columns,
				   .nr_rows = (unsigned int)nr,
				   .selects = blame_exit_selected,
				   .arg = &input_given};
	if (!nr || nr > GRID_ROWS_MAX || !columns || columns > GRID_COLUMNS_MAX || !ret->column_ns)
		return false;
	json_array_foreach (rows, i, row) {
		ret->lo_ns[i] = number(row, "lo_ns");
		ret->lo_ns[i + 1] = number(row, "hi_ns");
	}
	return true;
}

/* One pass, and what it is for. */
struct pass {
	struct blame_grid grid;
	struct blame_summary slowest, by_vcpu;
	struct blame_sinks sinks;
	struct blame *blame;
	struct input_set *in;
	struct addresses *symbols;
};

/* A summary, whose answer is printed by print_summary(). */
struct printing {
	const struct pass *pass;
	const struct blame_summary *summary;
};

static int print_summary(void *arg, FILE *to)
{
	const struct printing *p = arg;
	struct blame_report r = {.summary = p->summary,
				 .counts = blame_counts(p->pass->blame),
				 .blame = p->pass->blame,
				 .symbols = p->pass->symbols};
	json_t *caveats = blame_answer_begin(&r, p->pass->in);
	int err = blame_answer_json(&r, p->pass->in, caveats, to);

	json_decref(caveats);
	return err;
}

static int answers_make(struct pass *p, size_t max, struct report_blame *ret)
{
	const struct vm_names *vms = input_set_nr_vms(p->in) > 1 ? p->in->vms : NULL;
	struct printing slowest = {p, &p->slowest}, by_vcpu = {p, &p->by_vcpu};
	int err;

	err = blame_summary_end(&p->slowest);
	if (!err)
		err = blame_summary_end(&p->by_vcpu);
	if (!err)
		err = section_print("blame", print_summary, &slowest, &ret->blame);
	if (!err)
		err = section_print("blame", print_summary, &by_vcpu, &ret->by_vcpu);
	if (!err && p->grid.cell && !(ret->moments = blame_grid_json(&p->grid, vms, max)))
		err = fail(-ENOMEM, "out of memory");
	return err;
}

static int pass_run(struct pass *p)
{
	struct blame_sink all = blame_sinks_sink(&p->sinks);

	p->sinks.to[p->sinks.nr++] = blame_summary_sink(&p->slowest);
	p->sinks.to[p->sinks.nr++] = blame_summary_sink(&p->by_vcpu);
	if (p->grid.cell)
		p->sinks.to[p->sinks.nr++] = blame_grid_sink(&p->grid);
	p->blame = blame_new(&all);
	return p->blame ? blame_read(p->blame, &p->in) : fail(-ENOMEM, "out of memory");
}

static void pass_deinit(struct pass *p)
{
	blame_free(p->blame);
	blame_summary_free(&p->slowest);
	blame_summary_free(&p->by_vcpu);
	blame_grid_close(&p->grid);
	input_set_close(p->in);
	addresses_close(p->symbols);
}

int report_blame_make(const json_t *heatmap, bool several_vms, size_t max,
		      struct report_blame *ret)
{
	struct pass p = {.slowest = {.keep = REPORT_BLAME_SLOWEST,
				     .selects = blame_exit_selected,
				     .arg = &input_given},
			 .by_vcpu = {.by = {.vcpu = true, .vm = several_vms},
				     .keep = 1,
				     .selects = blame_exit_selected,
				     .arg = &input_given}};
	int err = addresses_given(&p.symbols);

	*ret = (struct report_blame){0};
	if (!err && grid_of(heatmap, &p.grid))
		err = blame_grid_open(&p.grid);
	if (!err)
		err = pass_run(&p);
	if (!err)
		err = answers_make(&p, max, ret);
	pass_deinit(&p);
	return err;
}
