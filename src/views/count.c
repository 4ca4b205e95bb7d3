// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts by group. A span of several accesses counts as that many. */
#include <errno.h>

#include "base/error.h"
#include "pairing/groups.h"
#include "views/view.h"

static int count_open(struct folding *f)
{
	struct groups *g = calloc(1, sizeof(*g));
	unsigned int nr;

	f->state = g;
	pairing_labels(f->pairing, &nr);
	return g ? groups_init(g, nr, false) : fail(-ENOMEM, "out of memory");
}

static int count_span(struct folding *f, const struct span *s)
{
	return groups_add(f->state, s);
}

static int count_spans(void *state, const struct spans *s)
{
	return groups_add_spans(state, s);
}

static int count_merge(void *state, void *from)
{
	return groups_merge(state, from);
}

static int count_draw(struct folding *f, struct report *r)
{
	struct groups *g = f->state;
	struct table t = {0};
	int err = groups_finish(g), named = label_with_names(f);

	if (err)
		return err;
	label_columns(f, &t);
	table_column(&t, "count", "count", COL_COUNT, 0);
	if (f->analyzer->size)
		table_column(&t, "bytes", "bytes", COL_COUNT, 0);
	if (named >= 0)
		label_name_column(f, named, &t);
	for (unsigned int i = 0; i < g->nr; i++) {
		struct cell *row = table_row(&t);

		if (!row)
			break;
		if (g->group[i].other)
			label_cells_other(f, row);
		else
			label_cells(f, &t, row, g->group[i].label);
		if (named >= 0 && !g->group[i].other)
			row[t.nr_columns - 1].text =
				label_name(f, named, &t, g->group[i].label);
		row[g->nr_labels].number = g->group[i].weight;
		if (f->analyzer->size)
			row[g->nr_labels + 1].number = g->group[i].bytes;
	}
	err = table_sort(&t, r->out->sort ? r->out->sort : "count");
	table_limit(&t, r->out->limit);
	if (!err)
		err = format_find(r->out->format)->table(r, &t);
	table_free(&t);
	return err;
}

static void count_close(struct folding *f)
{
	if (f->state)
		groups_deinit(f->state);
	free(f->state);
}

const struct view count_view = {
	.name = "count",
	.summary = "how often, by group",
	.formats = table_formats,
	.open = count_open,
	.span = count_span,
	.spans = count_spans,
	.merge = count_merge,
	.draw = count_draw,
	.close = count_close,
};
