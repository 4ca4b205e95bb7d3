// SPDX-License-Identifier: GPL-2.0-or-later
/* Comma-separated values by RFC 4180, a heading first; numbers as in JSON. */
#include <inttypes.h>
#include <string.h>

#include "output/escape.h"
#include "output/report.h"

static void put_cell(FILE *f, const struct column *c, const struct cell *v)
{
	if (c->kind == COL_REAL)
		fputs(v->text && strcmp(v->text, "-") ? v->text : "", f);
	else if (v->text && (column_is_text(c) || strcmp(v->text, "-")))
		put_csv(f, v->text);
	else if (v->text)
		return; /* no value */
	else if (c->kind == COL_HEX)
		fprintf(f, "0x%" PRIx64, v->number);
	else if (c->kind == COL_PERCENT)
		fprintf(f, "%.3f", (double)v->number / 1000);
	else if (!column_is_text(c))
		fprintf(f, "%" PRIu64, v->number);
}

static void put_line(const struct report *r, const struct table *t, const struct cell *row)
{
	FILE *f = r->out->file;
	const char *gap = "";
	char key[64];

	for (unsigned int i = 0; i < t->nr_columns; i++) {
		if (!t->column[i].key)
			continue;
		fputs(gap, f);
		if (row)
			put_cell(f, &t->column[i], &row[i]);
		else
			put_csv(f, report_key(r->ticks, t->column[i].key, key, sizeof(key)));
		gap = ",";
	}
	fputs("\n", f);
}

static int csv_table(const struct report *r, const struct table *t)
{
	if (!t->nr_rows)
		report_empty(r);
	if (!r->continues)
		put_line(r, t, NULL);
	for (size_t i = 0; i < t->nr_rows; i++)
		put_line(r, t, &t->cell[i * t->nr_columns]);
	report_left_out(r, t->left_out);
	return 0;
}

static int csv_histogram(const struct report *r, const struct histogram *h)
{
	const char *unit = r->ticks ? "ticks" : "ns";

	if (h->first > h->last)
		report_empty(r);
	fprintf(r->out->file, "lo_%s,hi_%s,count\n", unit, unit);
	for (unsigned int i = h->first; i <= h->last && i < HISTOGRAM_ROWS; i++)
		fprintf(r->out->file, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			i ? (uint64_t)1 << (i - 1) : 0, i == 64 ? UINT64_MAX : (uint64_t)1 << i,
			h->count[i]);
	return 0;
}

static int csv_heatmap(const struct report *r, const struct heatmap *h)
{
	const char *unit = r->ticks ? "ticks" : "ns";

	if (!h->total)
		report_empty(r);
	fprintf(r->out->file, "time_%s,lo_%s,hi_%s,count\n", unit, unit, unit);
	for (unsigned int x = 0; x < h->nr_columns; x++)
		for (unsigned int y = 0; y < h->nr_rows; y++)
			if (h->cell[y][x])
				fprintf(r->out->file,
					"%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
					h->t0_ns + x * h->column_ns, h->row[y].lo_ns,
					h->row[y].hi_ns, h->cell[y][x]);
	return 0;
}

const struct format csv_format = {
	.name = "csv",
	.table = csv_table,
	.histogram = csv_histogram,
	.heatmap = csv_heatmap,
	.timeline = &csv_timeline,
};
