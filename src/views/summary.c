// SPDX-License-Identifier: GPL-2.0-or-later
/* Durations by group: count, total, mean, spread and percentiles. */
#include <errno.h>

#include "base/error.h"
#include "output/durations.h"
#include "pairing/groups.h"
#include "views/view.h"

static int summary_open(struct folding *f)
{
	struct groups *g = calloc(1, sizeof(*g));
	unsigned int nr;

	f->state = g;
	pairing_labels(f->pairing, &nr);
	return g ? groups_init(g, nr, true) : fail(-ENOMEM, "out of memory");
}

static int summary_span(struct folding *f, const struct span *s)
{
	return groups_add(f->state, s);
}

static void summary_columns(const struct folding *f, struct table *t)
{
	label_columns(f, t);
	durations_columns(t, f->analyzer->mark != NULL);
	if (f->symbols && label_with_names(f) >= 0)
		label_name_column(f, label_with_names(f), t);
}

static void summary_row(const struct folding *f, struct table *t, struct group *g,
			unsigned int nr_labels, uint64_t all_ns)
{
	struct cell *row = table_row(t);
	struct quantiles *q = &g->ns;

	if (!row)
		return;
	if (g->other)
		label_cells_other(f, row);
	else
		label_cells(f, t, row, g->label);
	durations_cells(row + nr_labels,
			&(struct durations){.count = q->count,
					    .total_ns = (uint64_t)q->sum,
					    .min_ns = q->min,
					    .mean_ns = quantiles_mean(q),
					    .max_ns = q->max,
					    .deviation_ns = (uint64_t)(quantiles_stddev(q) + 0.5),
					    .p50_ns = quantiles_at(q, .5),
					    .p90_ns = quantiles_at(q, .9),
					    .p99_ns = quantiles_at(q, .99),
					    .p999_ns = quantiles_at(q, .999),
					    .userspace = g->marked},
			all_ns, f->analyzer->mark != NULL);
	if (f->symbols && label_with_names(f) >= 0 && !g->other)
		row[t->nr_columns - 1].text = label_name(f, label_with_names(f), t, g->label);
}

static int summary_spans(void *state, const struct spans *s)
{
	return groups_add_spans(state, s);
}

static int summary_merge(void *state, void *from)
{
	return groups_merge(state, from);
}

static int summary_draw(struct folding *f, struct report *r)
{
	struct groups *g = f->state;
	struct table t = {0};
	uint64_t all_ns = 0;
	bool estimated = false;
	int err = groups_finish(g);

	if (err)
		return err;
	for (unsigned int i = 0; i < g->nr; i++) {
		all_ns += (uint64_t)g->group[i].ns.sum;
		estimated |= g->group[i].ns.bucketed;
	}
	summary_columns(f, &t);
	for (unsigned int i = 0; i < g->nr; i++)
		summary_row(f, &t, &g->group[i], g->nr_labels, all_ns);
	json_array_append_new(r->caveats,
			      json_string(estimated ? "percentiles are nearest-rank, within 0.4 % "
						      "in rows that count more than 128"
						    : "percentiles are nearest-rank and exact"));
	err = table_sort(&t, r->out->sort ? r->out->sort : "total_ns");
	table_limit(&t, r->out->limit);
	if (!err)
		err = format_find(r->out->format)->table(r, &t);
	table_free(&t);
	return err;
}

static void summary_close(struct folding *f)
{
	if (f->state)
		groups_deinit(f->state);
	free(f->state);
}

const struct view summary_view = {
	.name = "summary",
	.summary = "durations by group: count, total, mean, deviation, percentiles",
	.formats = table_formats,
	.open = summary_open,
	.span = summary_span,
	.spans = summary_spans,
	.merge = summary_merge,
	.draw = summary_draw,
	.close = summary_close,
};
