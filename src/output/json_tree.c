// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The format "tree": the JSON answer of a report as a value instead of text, for programs that use several answers,
 * such as the page of `hostrace report`. It is what reading the text of "json" would give, but that numbers above
 * 2^63 - 1, which jansson's integers cannot have, are strings.
 */
#include <string.h>

#include "base/json_text.h"
#include "output/report.h"

void report_answer(const struct report *r, json_t *more, size_t flags)
{
	json_t *answer = r->head(r);

	json_object_update(answer, more);
	json_decref(more);
	if (r->out->tree) {
		*r->out->tree = answer;
		return;
	}
	json_text_put(answer, r->out->file, flags | JSON_PRESERVE_ORDER);
	fputc('\n', r->out->file);
	json_decref(answer);
}

bool report_is_json(const struct report *r)
{
	return r->out->tree || !strcmp(r->out->format, "json");
}

/* Steals `value`, the member `key` of the answer. */
static int answer_end(const struct report *r, const char *key, json_t *value)
{
	json_t *more = r->extra ? json_copy(r->extra) : json_object();

	json_object_set_new(more, key, value);
	report_answer(r, r->ticks ? report_json_in_ticks(more) : more, 0);
	return 0;
}

/* Each row alone, as it would be in the answer. */
static int rows_put(const struct report *r, const struct table *t)
{
	int err = 0;

	for (size_t i = 0; i < t->nr_rows && !err; i++) {
		json_t *row = table_row_json(t, i);

		row = r->ticks ? report_json_in_ticks(row) : row;
		err = r->out->rows->put(r->out->rows->arg, row);
		json_decref(row);
	}
	return err;
}

static int tree_table(const struct report *r, const struct table *t)
{
	int err;

	if (!t->nr_rows)
		report_empty(r);
	report_left_out(r, t->left_out);
	if (!r->out->rows)
		return answer_end(r, "rows", table_json(t));
	err = rows_put(r, t);
	return err ? err : answer_end(r, "rows", json_array());
}

static int tree_histogram(const struct report *r, const struct histogram *h)
{
	json_t *rows = json_array();

	if (h->first > h->last)
		report_empty(r);
	for (unsigned int i = h->first; i <= h->last && i < HISTOGRAM_ROWS; i++)
		json_array_append_new(
			rows, json_pack("{s:o,s:o,s:o}", "lo_ns",
					json_u64(i ? (uint64_t)1 << (i - 1) : 0), "hi_ns",
					json_u64(i == 64 ? UINT64_MAX : (uint64_t)1 << i),
					"count", json_u64(h->count[i])));
	return answer_end(r, "rows", rows);
}

static int tree_heatmap(const struct report *r, const struct heatmap *h)
{
	json_t *rows = json_array(), *cells = json_array();

	if (!h->total)
		report_empty(r);
	for (unsigned int y = 0; y < h->nr_rows; y++) {
		json_t *line = json_array();

		for (unsigned int x = 0; x < h->nr_columns; x++)
			json_array_append_new(line, json_u64(h->cell[y][x]));
		json_array_append_new(cells, line);
		json_array_append_new(rows,
				      json_pack("{s:o,s:o}", "lo_ns", json_u64(h->row[y].lo_ns),
						"hi_ns", json_u64(h->row[y].hi_ns)));
	}
	return answer_end(r, "result",
			  json_pack("{s:s,s:o,s:o,s:o,s:o}", "analyzer", h->analyzer, "t0_ns",
				    json_u64(h->t0_ns), "column_ns", json_u64(h->column_ns),
				    "rows", rows, "cells", cells));
}

const struct format tree_format = {
	.name = "tree",
	.table = tree_table,
	.histogram = tree_histogram,
	.heatmap = tree_heatmap,
	.timeline = &bands_timeline,
};
