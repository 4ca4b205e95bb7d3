// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/report_moments.h"

#include <errno.h>

#include "base/error.h"
#include "commands/common/blame_filter.h"
#include "commands/common/input.h"
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

static int handle(void *arg, const struct event *ev)
{
	return blame_event(arg, ev);
}

/* As `hostrace blame` reads: all threads are needed to explain an exit. */
static int read_all(struct blame *b, struct input_set **in)
{
	struct input_options given = input_given;
	int err;

	blame_unfilter(&input_given);
	err = input_open(false, blame_wants, NULL, in);
	input_given = given;
	if (!err)
		err = reader_each((*in)->reader, handle, b);
	return err ? err : blame_end(b);
}

static int fill(struct blame_grid *g, size_t max, json_t **ret)
{
	struct blame_sink sink = blame_grid_sink(g);
	_cleanup_(blame_cleanup_) struct blame *b = blame_new(&sink);
	_cleanup_input_set_ struct input_set *in = NULL;
	int err = b ? read_all(b, &in) : fail(-ENOMEM, "out of memory");

	if (err)
		return err;
	*ret = blame_grid_json(g, input_set_nr_vms(in) > 1 ? in->vms : NULL, max);
	return *ret ? 0 : fail(-ENOMEM, "out of memory");
}

int report_moments(const json_t *heatmap, size_t max, json_t **ret)
{
	struct blame_grid g;
	int err;

	*ret = NULL;
	if (!grid_of(heatmap, &g))
		return 0;
	err = blame_grid_open(&g);
	if (!err)
		err = fill(&g, max, ret);
	blame_grid_close(&g);
	return err;
}
