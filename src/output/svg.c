// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A heat map as a static SVG: time to the right, latency upwards (logarithmic), colour by the
 * logarithm of the count. No script; what a cell holds is its tooltip (<title>). Everything from
 * outside is escaped.
 */
#include <inttypes.h>
#include <math.h>

#include "base/saturate.h"
#include "base/units.h"
#include "output/escape.h"
#include "output/svg.h"

enum {
	CELL_MIN = 7, /* its width */
	CELL_MAX = 28,
	CELLS_MAX = 7000, /* drawn; 1 MB has about 8,000 */
	PLOT = 896,
	CELL_H = 12,
	LEFT = 74,
	TOP = 64,
	BOTTOM = 96,
	RIGHT = 28,
	SCALE_STEPS = 6,
	SCALE_WIDTH = 100 + SCALE_STEPS * 54,
	LETTER = 6, /* pixels, roughly */
	TITLE_LETTER = 10,
	TIME_STEPS = 10, /* at most */
};

/* From pale yellow over orange and red to dark violet; distinguishable in grey and by colour-blind readers. */
static void put_color(FILE *f, double heat)
{
	static const double stop[5][3] = {
		{255, 247, 188}, {254, 196, 79}, {240, 96, 62}, {168, 24, 92}, {58, 10, 84}};
	double at = heat > 0 ? heat * 4 : 0;
	int i = at >= 4 ? 3 : (int)at;
	double part = at - i;

	fprintf(f, "#%02x%02x%02x", (int)(stop[i][0] + (stop[i + 1][0] - stop[i][0]) * part),
		(int)(stop[i][1] + (stop[i + 1][1] - stop[i][1]) * part),
		(int)(stop[i][2] + (stop[i + 1][2] - stop[i][2]) * part));
}

static double heat_of(uint64_t count, uint64_t max)
{
	return max <= 1 ? 1 : log((double)count) / log((double)max);
}

/* Where the parts of the picture are. */
struct layout {
	const struct heatmap *h;
	unsigned int cell, width, height; /* of a cell; of all cells */
	uint64_t since_ns;		  /* of the first column, after the trace's start */
};

static void draw_cell(const struct layout *l, unsigned int x, unsigned int y, FILE *f)
{
	const struct heatmap *h = l->h;
	char lo[16], hi[16], from[16], to[16];

	fprintf(f, "<rect y=\"%u\" width=\"%u\" height=\"%d\" fill=\"",
		TOP + (h->nr_rows - 1 - y) * CELL_H, l->cell, CELL_H);
	put_color(f, heat_of(h->cell[y][x], h->max));
	fprintf(f, "\"><title>%" PRIu64 " between %s and %s, at %s to %s</title></rect>\n",
		h->cell[y][x], duration_print(h->row[y].lo_ns, lo, sizeof(lo)),
		duration_print(h->row[y].hi_ns, hi, sizeof(hi)),
		duration_print(l->since_ns + x * h->column_ns, from, sizeof(from)),
		duration_print(l->since_ns + (x + 1) * h->column_ns, to, sizeof(to)));
}

/* Each column is a link to its time window in the page of `hostrace report`, if there is one. */
static void draw_cells(const struct layout *l, FILE *f)
{
	const struct heatmap *h = l->h;

	for (unsigned int x = 0; x < h->nr_columns; x++) {
		uint64_t from = h->t0_ns + x * h->column_ns;

		if (h->link) {
			fputs("<a href=\"", f);
			put_markup(f, h->link);
			fprintf(f, "#t=%" PRIu64 "-%" PRIu64 "\">", from, from + h->column_ns);
		}
		fprintf(f, "<g transform=\"translate(%u)\">\n", LEFT + x * l->cell);
		for (unsigned int y = 0; y < h->nr_rows; y++)
			if (h->cell[y][x])
				draw_cell(l, x, y, f);
		fprintf(f, "</g>%s\n", h->link ? "</a>" : "");
	}
}

uint64_t svg_axis_step(uint64_t span_ns, unsigned int most)
{
	uint64_t step = 1;

	for (unsigned int i = 0; span_ns / step > most; i++)
		step = i % 3 == 1 ? step / 2 * 5 : step * 2;
	return step;
}

static void draw_time_axis(const struct layout *l, FILE *f)
{
	double span = (double)l->h->column_ns * l->h->nr_columns;
	uint64_t step = svg_axis_step(uint64_of_double(fmin(span, 1.8e19)), TIME_STEPS);
	uint64_t from = l->since_ns % step, ns = from ? step - from : 0;
	unsigned int y = TOP + l->height;
	char text[16];

	for (unsigned int i = 0; i <= TIME_STEPS && (double)ns <= span && l->width; i++) {
		double x = LEFT + (double)l->width * (double)ns / span;

		fprintf(f,
			"<path d=\"M%.1f %u v5\" stroke=\"#888\"/><text x=\"%.1f\" y=\"%u\" "
			"text-anchor=\"middle\">%s</text>\n",
			x, y, x, y + 18, duration_print(l->since_ns + ns, text, sizeof(text)));
		ns += step;
	}
}

static void draw_axes(const struct layout *l, FILE *f)
{
	const struct heatmap *h = l->h;
	unsigned int width = l->width, height = l->height;
	char text[16];

	fprintf(f,
		"<rect x=\"%d\" y=\"%d\" width=\"%u\" height=\"%u\" fill=\"none\" "
		"stroke=\"#888\"/>\n",
		LEFT, TOP, width, height);
	for (unsigned int y = 0; y < h->nr_rows; y += 2)
		fprintf(f, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
			TOP + height - y * CELL_H + 4,
			duration_print(h->row[y].lo_ns, text, sizeof(text)));
	draw_time_axis(l, f);
	fprintf(f,
		"<text x=\"%u\" y=\"%u\" text-anchor=\"middle\">time since the trace "
		"began</text>\n",
		LEFT + width / 2, TOP + height + 36);
	fprintf(f,
		"<text x=\"16\" y=\"%u\" text-anchor=\"middle\" transform=\"rotate(-90 16 "
		"%u)\">latency</text>\n",
		TOP + height / 2, TOP + height / 2);
}

static void draw_scale(const struct heatmap *h, FILE *f)
{
	unsigned int y = TOP + h->nr_rows * CELL_H + 54;
	double shown = 0;
	int x = LEFT + 100;

	fprintf(f, "<text x=\"%d\" y=\"%u\">spans in a cell</text>\n", LEFT, y + 11);
	for (int i = 0; i < SCALE_STEPS; i++) {
		double heat = (double)i / (SCALE_STEPS - 1);
		double count = round(exp(heat * log((double)(h->max ? h->max : 1))));

		if (count <= shown)
			continue;
		shown = count;
		heat = heat_of(uint64_of_double(count), h->max);
		fprintf(f, "<rect x=\"%d\" y=\"%u\" width=\"54\" height=\"14\" fill=\"",
			x, y);
		put_color(f, heat);
		fprintf(f, "\"/><text x=\"%d\" y=\"%u\" text-anchor=\"middle\">%.0f</text>\n",
			x + 27, y + 28, count);
		x += 54;
	}
}

static unsigned int cells_used(const struct heatmap *h)
{
	unsigned int nr = 0;

	for (unsigned int y = 0; y < h->nr_rows; y++)
		for (unsigned int x = 0; x < h->nr_columns; x++)
			nr += h->cell[y][x] != 0;
	return nr;
}

/* Columns of twice the time. */
static void columns_join(struct heatmap *h)
{
	h->max = 0;
	h->column_ns *= 2;
	for (unsigned int y = 0; y < h->nr_rows; y++)
		for (unsigned int x = 0; x < h->nr_columns; x += 2) {
			uint64_t second = x + 1 < h->nr_columns ? h->cell[y][x + 1] : 0;

			h->cell[y][x / 2] = h->cell[y][x] + second;
			h->max = h->cell[y][x / 2] > h->max ? h->cell[y][x / 2] : h->max;
		}
	h->nr_columns = (h->nr_columns + 1) / 2;
}

static struct layout layout_make(const struct report *r, const struct heatmap *h)
{
	struct layout l = {.h = h, .height = h->nr_rows * CELL_H};

	if (h->t0_ns > r->reader->info.start_ns)
		l.since_ns = h->t0_ns - r->reader->info.start_ns;

	l.cell = h->nr_columns ? PLOT / h->nr_columns : CELL_MAX;
	l.cell = l.cell < CELL_MIN ? CELL_MIN : l.cell > CELL_MAX ? CELL_MAX : l.cell;
	l.width = l.cell * h->nr_columns;
	return l;
}

static unsigned int wider(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

static void about_print(const struct report *r, const struct heatmap *h, char **ret)
{
	char text[16];

	if (asprintf(ret,
		     "%s \xc2\xb7 %" PRIu64 " spans \xc2\xb7 a column is %s \xc2\xb7 %" PRIu64
		     " events lost%s",
		     r->reader->info.file, h->total,
		     duration_print(h->column_ns, text, sizeof(text)), r->reader->info.lost,
		     h->link ? " \xc2\xb7 a click shows the column in the report" : "") < 0)
		*ret = NULL;
}

static void heatmap_draw(const struct report *r, const struct heatmap *h, FILE *f)
{
	struct layout l = layout_make(r, h);
	unsigned int height = TOP + l.height + BOTTOM, width;
	_cleanup_free_ char *about = NULL;

	about_print(r, h, &about);
	width = wider(LEFT + l.width + RIGHT, h->total ? LEFT + SCALE_WIDTH + RIGHT : 0);
	width = wider(width, LEFT + (unsigned int)strlen(h->title) * TITLE_LETTER + RIGHT);
	width = wider(width, LEFT + (unsigned int)strlen(about ?: "") * LETTER + RIGHT);
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 "
		"0 %u %u\" "
		"font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#222\">\n",
		width, height, width, height);
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", f);
	fprintf(f, "<text x=\"%d\" y=\"26\" font-size=\"17\" font-weight=\"600\">", LEFT);
	put_markup(f, h->title);
	fprintf(f, "</text>\n<text x=\"%d\" y=\"46\" fill=\"#666\">", LEFT);
	put_markup(f, about ?: "");
	fputs("</text>\n", f);
	if (h->total) {
		draw_cells(&l, f);
		draw_axes(&l, f);
		draw_scale(h, f);
	} else {
		fprintf(f, "<text x=\"%d\" y=\"%d\">no spans to draw</text>\n", LEFT, TOP + 24);
	}
	fputs("</svg>\n", f);
}

void svg_heatmap_draw(const struct report *r, const struct heatmap *h, FILE *f)
{
	_cleanup_free_ struct heatmap *joined = NULL;

	if (cells_used(h) > CELLS_MAX && (joined = malloc(sizeof(*joined)))) {
		*joined = *h;
		while (cells_used(joined) > CELLS_MAX)
			columns_join(joined);
	}
	heatmap_draw(r, joined ? joined : h, f);
}

void svg_script_put(const char *script, FILE *f)
{
	fprintf(f, "<script><![CDATA[(function () {\n'use strict';\n%s})();]]></script>\n", script);
}

static int svg_heatmap(const struct report *r, const struct heatmap *h)
{
	svg_heatmap_draw(r, h, r->out->file);
	return 0;
}

const struct format svg_format = {
	.name = "svg",
	.heatmap = svg_heatmap,
	.timeline = &svg_timeline,
};

void svg_waterfall_begin(FILE *f, unsigned int width, unsigned int height)
{
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" font-family=\"system-ui, sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
		"<text x=\"12\" y=\"26\" font-size=\"16\" font-weight=\"600\">",
		width, height, width, height);
}
