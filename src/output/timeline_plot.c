// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rows of a timeline's picture as they are without a script: a pixel has the share of each kind of slice in it,
 * slices that are wide enough have names, and arrows are drawn if they are few.
 */
#include <math.h>

#include "base/saturate.h"
#include "output/escape.h"
#include "output/timeline_picture.h"

enum {
	LETTER = 6,	    /* pixels, roughly */
	NAMES_DRAWN = 1500,
	ARROWS_DRAWN = 150, /* the script shows more of them when the user zooms in */
	HALVES = 2 * PICTURE_BAR,
	SEPARATED = 3, /* pixels: a slice as wide as this has a line at its begin */
};

/* Time of each kind, in pixels, and the number of points, by pixel of one row. */
struct pixel {
	double share[SLICE_KINDS];
	bool exact; /* its points are drawn singly */
};

/* What is drawn of a pixel: heights in half pixels. */
struct stack {
	uint8_t half[SLICE_KINDS];
};

static double x_of(const struct timeline_picture *p, uint64_t ns)
{
	double span = (double)(p->until_ns > p->since_ns ? p->until_ns - p->since_ns : 1);

	return ((double)ns - (double)p->since_ns) / span * PICTURE_PLOT;
}

/* Spreads `amount` evenly over the pixels from x to end. */
static void spread(struct pixel *px, enum slice_kind kind, double x, double end, double amount)
{
	double width = end - x;

	if (!(width > 0)) { /* times so large that both are the same double */
		px[x > 0 && x < PICTURE_PLOT ? (int)x : 0].share[kind] += amount;
		return;
	}
	x = x < 0 ? 0 : x;
	end = end > PICTURE_PLOT ? PICTURE_PLOT : end;
	for (int i = (int)x; i < PICTURE_PLOT && i < end; i++) {
		double from = x > i ? x : i, to = end < i + 1 ? end : i + 1;

		px[i].share[kind] += amount * (to - from) / width;
	}
}

static void pixels_fill(const struct timeline_picture *p, const struct band_track *t,
			struct pixel *px)
{
	uint64_t resolution = p->bands->resolution_ns;

	for (uint32_t i = 0; i < t->nr; i++) {
		const struct band_item *item = &t->item[i];
		double x = x_of(p, item->start_ns), width = x_of(p, p->since_ns + item->ns);
		int at = x < PICTURE_PLOT ? (x > 0 ? (int)x : 0) : PICTURE_PLOT - 1;

		if (item->is_band)
			spread(px, item->kind, x, x_of(p, item->start_ns + resolution),
			       item->kind == SLICE_INSTANT ? (double)item->count : width);
		else if (item->kind != SLICE_INSTANT)
			spread(px, item->kind, x, x + width, width);
		else
			px[at].share[SLICE_INSTANT]++;
		if (!item->is_band && item->kind == SLICE_INSTANT)
			px[at].exact = true;
	}
}

/* Borders are rounded, not heights, so that a full pixel is drawn full. */
static struct stack stack_of(const struct pixel *px)
{
	struct stack s = {{0}};
	double sum = 0;
	unsigned int drawn = 0;

	for (unsigned int k = 0; k < SLICE_KINDS; k++) {
		if (k == SLICE_INSTANT)
			continue;
		sum += px->share[k];
		unsigned int to = uint32_of_double(sum * HALVES + 0.5);

		to = to > HALVES ? HALVES : to;
		s.half[k] = (uint8_t)(to - drawn);
		drawn = to;
	}
	return s;
}

/* A row as one path per kind, of the runs of equal pixels. */
static void row_draw(const struct pixel *px, uint32_t y, FILE *f)
{
	struct stack *stack = calloc(PICTURE_PLOT, sizeof(*stack));

	for (int i = 0; stack && i < PICTURE_PLOT; i++)
		stack[i] = stack_of(&px[i]);
	for (unsigned int k = 0; stack && k < SLICE_KINDS; k++) {
		bool any = false;

		for (int i = 0, end; i < PICTURE_PLOT; i = end) {
			unsigned int below = 0;

			for (end = i + 1; end < PICTURE_PLOT; end++)
				if (memcmp(&stack[end], &stack[i], sizeof(*stack)) != 0)
					break;
			if (!stack[i].half[k])
				continue;
			for (unsigned int j = 0; j <= k; j++)
				below += stack[i].half[j];
			if (!any)
				fprintf(f, "<path fill=\"%s\" d=\"", timeline_fill(k));
			any = true;
			fprintf(f, "M%d %gh%dv%gh-%dz", PICTURE_LEFT + i,
				y + PICTURE_BAR - below / 2.0, end - i, stack[i].half[k] / 2.0,
				end - i);
		}
		if (any)
			fputs("\"/>\n", f);
	}
	free(stack);
}

/* A triangle for each pixel with points; a bar by the logarithm of their number where they are bands. */
static void points_draw(const struct pixel *px, double most, uint32_t y, FILE *f)
{
	if (most <= 0)
		return;
	fputs("<path d=\"", f);
	for (int i = 0; i < PICTURE_PLOT; i++) {
		double n = px[i].share[SLICE_INSTANT];
		double height = PICTURE_BAR * (log1p(n) / log1p(most));

		if (px[i].exact)
			fprintf(f, "M%d %ul3 6h-6z", PICTURE_LEFT + i, y + 4);
		else if (n > 0)
			fprintf(f, "M%d %.1fh1v%.1fh-1z", PICTURE_LEFT + i,
				y + PICTURE_BAR - height, height);
	}
	fputs("\"/>\n", f);
}

static bool is_wide(const struct timeline_picture *p, const struct band_item *item, double width)
{
	return !item->is_band && item->kind != SLICE_INSTANT &&
	       x_of(p, p->since_ns + item->ns) >= width;
}

/* Begins and names of slices that are wide enough; at most so many names. */
static void names_draw(const struct timeline_picture *p, const struct band_track *t, uint32_t y,
		       unsigned int *most, FILE *f)
{
	bool any = false;

	for (uint32_t i = 0; i < t->nr; i++) {
		if (!is_wide(p, &t->item[i], SEPARATED))
			continue;
		fprintf(f, "%sM%.1f %uv%d",
			any ? "" : "<path stroke=\"#fff\" stroke-width=\"0.5\" d=\"",
			PICTURE_LEFT + x_of(p, t->item[i].start_ns), y, PICTURE_BAR);
		any = true;
	}
	if (any)
		fputs("\"/>\n", f);
	for (uint32_t i = 0; i < t->nr && *most; i++) {
		const struct band_item *item = &t->item[i];

		if (!is_wide(p, item, (double)LETTER * (double)strlen(item->name) + 4))
			continue;
		fprintf(f, "<text x=\"%.1f\" y=\"%u\" font-size=\"10\">",
			PICTURE_LEFT + x_of(p, item->start_ns) + 2, y + 11);
		put_markup(f, item->name);
		fputs("</text>\n", f);
		--*most;
	}
}

/* ---- arrows ---- */

/* Only if they are few and far enough apart to be distinguished. */
static bool arrows_are_few(const struct timeline_picture *p)
{
	const struct band_flow *flow;
	double from = PICTURE_PLOT, to = 0;
	unsigned int nr = 0;

	for (uint32_t at = 0; (flow = hash_next(&p->bands->flows, &at));) {
		nr += flow->nr - 1;
		from = fmin(from, x_of(p, flow->at[0].start_ns));
		to = fmax(to, x_of(p, flow->at[flow->nr - 1].start_ns));
	}
	return nr <= ARROWS_DRAWN && 4 * nr <= to - from + 40;
}

static void arrow_draw(const struct timeline_picture *p, const struct band_flow *flow,
		       unsigned int i, FILE *f)
{
	bool after = flow->at[i].end_ns <= flow->at[i + 1].start_ns; /* else it lies within */
	double x1 = x_of(p, after ? flow->at[i].end_ns : flow->at[i].start_ns) + PICTURE_LEFT;
	double x2 = x_of(p, flow->at[i + 1].start_ns) + PICTURE_LEFT;
	uint32_t y1 = p->y[flow->at[i].track] + PICTURE_BAR / 2;
	uint32_t y2 = p->y[flow->at[i + 1].track] + PICTURE_BAR / 2;
	double bend = x2 - x1 > 24 ? (x2 - x1) / 2 : 12;

	fprintf(f,
		"<path d=\"M%.1f %u C%.1f %u %.1f %u %.1f %u\" fill=\"none\" stroke=\"#333\" "
		"stroke-width=\"0.8\" marker-end=\"url(#tip)\" opacity=\"0.7\"/>\n",
		x1, y1, x1 + bend, y1, x2 - bend, y2, x2, y2);
}

static void arrows_draw(const struct timeline_picture *p, FILE *f)
{
	_cleanup_free_ const struct band_flow **flow = NULL;
	size_t nr;

	if (!arrows_are_few(p))
		return;
	flow = hash_sorted(&p->bands->flows, NULL, &nr);
	for (size_t k = 0; k < nr; k++)
		for (unsigned int i = 0; i + 1 < flow[k]->nr; i++)
			arrow_draw(p, flow[k], i, f);
}

void timeline_picture_plot(const struct timeline_picture *p, FILE *f)
{
	struct pixel *px = calloc(PICTURE_PLOT, sizeof(*px));
	unsigned int names = NAMES_DRAWN;

	fputs("<g class=\"plot\">\n", f);
	for (uint32_t i = 0; px && i < p->nr_rows; i++) {
		const struct band_track *t = &p->bands->track[p->row[i]];
		uint32_t y = p->y[p->row[i]];
		double most = 0;

		memset(px, 0, PICTURE_PLOT * sizeof(*px));
		pixels_fill(p, t, px);
		for (int k = 0; k < PICTURE_PLOT; k++)
			most = fmax(most, px[k].share[SLICE_INSTANT]);
		fprintf(f, "<path d=\"M%d %u h%d\" stroke=\"#eee\"/>\n", PICTURE_LEFT,
			y + PICTURE_ROW - 2, PICTURE_PLOT);
		row_draw(px, y, f);
		points_draw(px, most, y, f);
		names_draw(p, t, y, &names, f);
	}
	if (p->nr_rows)
		arrows_draw(p, f);
	free(px);
	fputs("</g>\n", f);
}
