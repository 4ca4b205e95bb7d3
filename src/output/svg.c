// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A heat map as a static SVG: time to the right, latency upwards (logarithmic), colour by the
 * logarithm of the count. No script; what a cell holds is its tooltip (<title>). Everything from
 * outside is escaped.
 */
#include <inttypes.h>
#include <math.h>

#include "base/units.h"
#include "output/escape.h"
#include "output/svg.h"
#include "output/timeline_formats.h"

enum {
	CELL_W = 7,
	CELL_H = 12,
	LEFT = 74,
	TOP = 64,
	BOTTOM = 96,
	RIGHT = 28,
	SCALE_STEPS = 6,
	TIME_TICKS = 8,
};

/* From pale yellow over orange and red to dark violet; distinguishable in grey and by colour-blind readers. */
static void put_color(FILE *f, double heat)
{
	static const double stop[5][3] = {
		{255, 247, 188}, {254, 196, 79}, {240, 96, 62}, {168, 24, 92}, {58, 10, 84}};
	double at = heat * 4;
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

static void draw_cells(const struct heatmap *h, FILE *f)
{
	char lo[16], hi[16], from[16], to[16];

	for (unsigned int y = 0; y < h->nr_rows; y++)
		for (unsigned int x = 0; x < h->nr_columns; x++) {
			uint64_t n = h->cell[y][x];

			if (!n)
				continue;
			fprintf(f, "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" fill=\"",
				LEFT + x * CELL_W, TOP + (h->nr_rows - 1 - y) * CELL_H, CELL_W,
				CELL_H);
			put_color(f, heat_of(n, h->max));
			fprintf(f,
				"\"><title>%" PRIu64
				" between %s and %s, at %s to %s</title></rect>\n",
				n, duration_print(h->row[y].lo_ns, lo, sizeof(lo)),
				duration_print(h->row[y].hi_ns, hi, sizeof(hi)),
				duration_print(x * h->column_ns, from, sizeof(from)),
				duration_print((x + 1) * h->column_ns, to, sizeof(to)));
		}
}

static void draw_axes(const struct heatmap *h, FILE *f)
{
	unsigned int width = h->nr_columns * CELL_W, height = h->nr_rows * CELL_H;
	char text[16];

	fprintf(f,
		"<rect x=\"%d\" y=\"%d\" width=\"%u\" height=\"%u\" fill=\"none\" "
		"stroke=\"#888\"/>\n",
		LEFT, TOP, width, height);
	for (unsigned int y = 0; y < h->nr_rows; y += 2)
		fprintf(f, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">%s</text>\n", LEFT - 6,
			TOP + height - y * CELL_H + 4,
			duration_print(h->row[y].lo_ns, text, sizeof(text)));
	for (unsigned int i = 0; i <= TIME_TICKS && width; i++) {
		unsigned int x = LEFT + width * i / TIME_TICKS;

		fprintf(f,
			"<path d=\"M%u %u v5\" stroke=\"#888\"/><text x=\"%u\" y=\"%u\" "
			"text-anchor=\"middle\">%s</text>\n",
			x, TOP + height, x, TOP + height + 18,
			duration_print(
				(uint64_t)((double)h->column_ns * h->nr_columns * i / TIME_TICKS),
				text, sizeof(text)));
	}
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

	fprintf(f, "<text x=\"%d\" y=\"%u\">spans in a cell</text>\n", LEFT, y + 11);
	for (int i = 0; i < SCALE_STEPS; i++) {
		double heat = (double)i / (SCALE_STEPS - 1);

		fprintf(f, "<rect x=\"%d\" y=\"%u\" width=\"54\" height=\"14\" fill=\"",
			LEFT + 100 + i * 54, y);
		put_color(f, heat);
		fprintf(f, "\"/><text x=\"%d\" y=\"%u\" text-anchor=\"middle\">%.0f</text>\n",
			LEFT + 127 + i * 54, y + 28,
			exp(heat * log((double)(h->max ? h->max : 1))));
	}
}

void svg_heatmap_draw(const struct report *r, const struct heatmap *h, FILE *f)
{
	unsigned int width = LEFT + h->nr_columns * CELL_W + RIGHT,
		     height = TOP + h->nr_rows * CELL_H + BOTTOM;
	char text[16];

	width = width < 520 ? 520 : width;
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 "
		"0 %u %u\" "
		"font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#222\">\n",
		width, height, width, height);
	fputs("<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n", f);
	fprintf(f, "<text x=\"%d\" y=\"26\" font-size=\"17\" font-weight=\"600\">", LEFT);
	put_markup(f, h->title);
	fputs("</text>\n", f);
	fprintf(f, "<text x=\"%d\" y=\"46\" fill=\"#666\">", LEFT);
	put_markup(f, r->reader->info.file);
	fprintf(f,
		" \xc2\xb7 %" PRIu64 " spans \xc2\xb7 a column is %s \xc2\xb7 %" PRIu64
		" events lost</text>\n",
		h->total, duration_print(h->column_ns, text, sizeof(text)), r->reader->info.lost);
	if (h->total) {
		draw_cells(h, f);
		draw_axes(h, f);
		draw_scale(h, f);
	} else {
		fprintf(f, "<text x=\"%d\" y=\"%d\">no spans to draw</text>\n", LEFT, TOP + 24);
	}
	fputs("</svg>\n", f);
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
