// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One object: the head that every answer has, then "rows" or "result". Rows are written one by one,
 * so that a long table needs no second copy. Times are integers in ns, addresses strings "0x..".
 */
#include <string.h>

#include "base/json_text.h"
#include "output/escape.h"
#include "output/json_rows.h"
#include "output/report.h"

/* The opening brace and every member of the head and the extra, each followed by a comma. */
static void open_object(const struct report *r)
{
	json_t *head = r->head(r), *value;
	const char *key;

	if (r->extra)
		json_object_update(head, r->extra);
	if (r->ticks)
		head = report_json_in_ticks(head);
	fputc('{', r->out->file);
	json_object_foreach (head, key, value) {
		fprintf(r->out->file, "\"%s\": ", key);
		json_text_put(value, r->out->file,
			      JSON_ENCODE_ANY | JSON_COMPACT);
		fputs(",\n", r->out->file);
	}
	json_decref(head);
}

static void put_cell(FILE *f, const struct column *c, const struct cell *v)
{
	if (c->kind == COL_REAL)
		fputs(v->text && strcmp(v->text, "-") ? v->text : "null", f);
	else if (v->text && (column_is_text(c) || strcmp(v->text, "-")))
		put_json(f, v->text);
	else if (v->text || column_is_text(c))
		fputs("null", f);
	else if (c->kind == COL_HEX)
		fprintf(f, "\"0x%" PRIx64 "\"", v->number);
	else if (c->kind == COL_PERCENT)
		fprintf(f, "%.3f", (double)v->number / 1000);
	else
		fprintf(f, "%" PRIu64, v->number);
}

static void put_row(const struct report *r, const struct table *t, const struct cell *row)
{
	FILE *f = r->out->file;
	char key[64];
	const char *gap = "{";

	for (unsigned int i = 0; i < t->nr_columns; i++) {
		if (!t->column[i].key)
			continue;
		fprintf(f, "%s\"%s\": ", gap,
			report_key(r->ticks, t->column[i].key, key, sizeof(key)));
		put_cell(f, &t->column[i], &row[i]);
		gap = ", ";
	}
	fputc('}', f);
}

static int json_table(const struct report *r, const struct table *t)
{
	if (!t->nr_rows)
		report_empty(r);
	report_left_out(r, t->left_out);
	open_object(r);
	fputs("\"rows\": [", r->out->file);
	for (size_t i = 0; i < t->nr_rows; i++) {
		fputs(i ? ",\n" : "\n", r->out->file);
		put_row(r, t, &t->cell[i * t->nr_columns]);
	}
	fputs("]}\n", r->out->file);
	return 0;
}

static int json_histogram(const struct report *r, const struct histogram *h)
{
	const char *gap = "", *unit = r->ticks ? "ticks" : "ns";

	if (h->first > h->last)
		report_empty(r);
	open_object(r);
	fputs("\"rows\": [", r->out->file);
	for (unsigned int i = h->first; i <= h->last && i < HISTOGRAM_ROWS; i++) {
		fprintf(r->out->file,
			"%s\n{\"lo_%s\": %" PRIu64 ", \"hi_%s\": %" PRIu64
			", \"count\": %" PRIu64 "}",
			gap, unit, i ? (uint64_t)1 << (i - 1) : 0, unit,
			i == 64 ? UINT64_MAX : (uint64_t)1 << i, h->count[i]);
		gap = ",";
	}
	fputs("]}\n", r->out->file);
	return 0;
}

static int json_heatmap(const struct report *r, const struct heatmap *h)
{
	const char *unit = r->ticks ? "ticks" : "ns";
	FILE *f = r->out->file;

	if (!h->total)
		report_empty(r);
	open_object(r);
	fputs("\"result\": {\"analyzer\": ", f);
	put_json(f, h->analyzer);
	fprintf(f, ", \"t0_%s\": %" PRIu64 ", \"column_%s\": %" PRIu64 ",\n\"rows\": [", unit,
		h->t0_ns, unit, h->column_ns);
	for (unsigned int y = 0; y < h->nr_rows; y++)
		fprintf(f, "%s{\"lo_%s\": %" PRIu64 ", \"hi_%s\": %" PRIu64 "}", y ? ", " : "",
			unit, h->row[y].lo_ns, unit, h->row[y].hi_ns);
	fputs("],\n\"cells\": [", f);
	for (unsigned int y = 0; y < h->nr_rows; y++) {
		fputs(y ? ",\n[" : "\n[", f);
		for (unsigned int x = 0; x < h->nr_columns; x++)
			fprintf(f, "%s%" PRIu64, x ? "," : "", h->cell[y][x]);
		fputc(']', f);
	}
	fputs("]}}\n", f);
	return 0;
}

const struct format json_format = {
	.name = "json",
	.table = json_table,
	.histogram = json_histogram,
	.heatmap = json_heatmap,
	.timeline = &json_timeline,
};

/* ---- rows before their head ---- */

void json_rows_begin(FILE *f)
{
	fputs("{\"rows\":[", f);
}

void json_rows_next(FILE *f, uint64_t nr)
{
	fputs(nr ? ",\n" : "\n", f);
}

void json_rows_end(FILE *f, json_t *head)
{
	char *text = head ? json_text_make(head, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;

	fprintf(f, "\n]%s%s\n", text ? "," : "", text ? text + 1 : "}");
	free(text);
	json_decref(head);
}

void json_rows_last(FILE *f, json_t *head)
{
	json_text_put(head, f, JSON_COMPACT);
	fputc('\n', f);
	json_decref(head);
}
