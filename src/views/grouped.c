// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two views of spans by group. count: counts; a span of several accesses counts as that many. summary: durations,
 * with total, mean, spread and percentiles.
 */
#include <errno.h>

#include "base/error.h"
#include "base/saturate.h"
#include "output/durations.h"
#include "pairing/groups.h"
#include "views/view.h"

static int grouped_open(struct folding *f, bool durations)
{
	struct groups *g = calloc(1, sizeof(*g));
	unsigned int nr;

	f->state = g;
	pairing_labels(f->pairing, &nr);
	return g ? groups_init(g, nr, durations) : fail(-ENOMEM, "out of memory");
}

static int grouped_span(struct folding *f, const struct span *s)
{
	return groups_add(f->state, s);
}

static int grouped_spans(void *state, const struct spans *s)
{
	return groups_add_spans(state, s);
}

static int grouped_merge(void *state, void *from)
{
	return groups_merge(state, from);
}

static void grouped_close(struct folding *f)
{
	if (f->state)
		groups_deinit(f->state);
	free(f->state);
}

/* A row with the group's labels; `named`: the label whose name the last column holds, or -1. NULL: no memory. */
static struct cell *row_add(const struct folding *f, struct table *t, const struct group *g,
			    int named)
{
	struct cell *row = table_row(t);

	if (!row)
		return NULL;
	if (g->other) {
		label_cells_other(f, row);
		return row;
	}
	label_cells(f, t, row, g->label);
	if (named >= 0)
		row[t->nr_columns - 1].text = label_name(f, named, t, g->label);
	return row;
}

/* ---- count ---- */

static int count_open(struct folding *f)
{
	return grouped_open(f, false);
}

static bool has_bytes(const struct table *t)
{
	return ((const struct folding *)t->report)->analyzer->size;
}

static const struct column_def count_columns[] = {
	{"count", "count", COL_COUNT, MEMBER(struct group, weight), .doc = "how many there were"},
	{"bytes", "bytes", COL_COUNT, MEMBER(struct group, bytes), .when = has_bytes,
	 .doc = "their sizes together"},
	{0},
};

/* After the labels that make the groups. */
const struct table_def count_table = {
	"count", "", "a group of spans: its keys, and", {count_columns}};

static int count_draw(struct folding *f, struct report *r)
{
	struct groups *g = f->state;
	struct table t = {0};
	int err = groups_finish(g), named = label_with_names(f);

	if (err)
		return err;
	label_columns(f, &t);
	table_open(&t, &count_table, f, NULL);
	if (named >= 0)
		label_name_column(f, named, &t);
	for (unsigned int i = 0; i < g->nr; i++) {
		struct cell *row = row_add(f, &t, &g->group[i], named);

		if (!row)
			break;
		table_fill(&t, row, &g->group[i]);
	}
	return label_table(f, r, &t, "count");
}

const struct view count_view = {
	.name = "count",
	.summary = "how often, by group",
	.formats = table_formats,
	.open = count_open,
	.span = grouped_span,
	.spans = grouped_spans,
	.merge = grouped_merge,
	.draw = count_draw,
	.close = grouped_close,
};

/* ---- summary ---- */

static int summary_open(struct folding *f)
{
	return grouped_open(f, true);
}

/* After the labels that make the groups; those of exits have the columns of user space. */
const struct table_def summary_table = {
	"exits", "", "a group of exits: its keys, and", {durations_columns, durations_userspace}};

static void summary_row(const struct folding *f, struct table *t, struct group *g, uint64_t all_ns,
			int named)
{
	struct cell *row = row_add(f, t, g, named);
	struct quantiles *q = &g->ns;
	struct durations d = {.count = q->count,
			      .total_ns = (uint64_t)q->sum,
			      .min_ns = q->min,
			      .mean_ns = quantiles_mean(q),
			      .max_ns = q->max,
			      .deviation_ns = uint64_of_double(quantiles_stddev(q) + 0.5),
			      .p50_ns = quantiles_at(q, .5),
			      .p90_ns = quantiles_at(q, .9),
			      .p99_ns = quantiles_at(q, .99),
			      .p999_ns = quantiles_at(q, .999),
			      .userspace = g->marked,
			      .all_ns = all_ns};

	if (row)
		table_fill(t, row, &d);
}

static int summary_draw(struct folding *f, struct report *r)
{
	struct groups *g = f->state;
	struct table t = {0};
	uint64_t all_ns = 0;
	bool estimated = false;
	int err = groups_finish(g), named = f->symbols ? label_with_names(f) : -1;

	if (err)
		return err;
	for (unsigned int i = 0; i < g->nr; i++) {
		all_ns += (uint64_t)g->group[i].ns.sum;
		estimated |= g->group[i].ns.bucketed;
	}
	label_columns(f, &t);
	table_block(&t, durations_columns, 0);
	if (f->analyzer->mark)
		table_block(&t, durations_userspace, 0);
	if (named >= 0)
		label_name_column(f, named, &t);
	for (unsigned int i = 0; i < g->nr; i++)
		summary_row(f, &t, &g->group[i], all_ns, named);
	if (g->nr)
		json_array_append_new(
			r->caveats,
			json_string(estimated ? "percentiles are nearest-rank, within 0.4 % "
						"in rows that count more than 128"
					      : "percentiles are nearest-rank and exact"));
	return label_table(f, r, &t, "total_ns");
}

const struct view summary_view = {
	.name = "summary",
	.summary = "durations by group: count, total, mean, deviation, percentiles",
	.formats = table_formats,
	.open = summary_open,
	.span = grouped_span,
	.spans = grouped_spans,
	.merge = grouped_merge,
	.draw = summary_draw,
	.close = grouped_close,
};
