// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timeline as a static picture: time to the right, a row for each track, arrows from kicks over requests to
 * interrupts and to their completion in the guest. For a short window: slices are kept until the end, because only
 * then it is known how wide a microsecond is. Slices thinner than a third of a pixel that follow each other closely
 * are drawn as one.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "output/escape.h"
#include "output/svg.h"
#include "output/timeline_formats.h"

enum {
	SLICES_MAX = 200000, /* kept; what comes then is counted */
	TRACKS_DRAWN = 400,
	LEFT = 190,
	WIDTH = 1400, /* of the picture */
	PLOT = WIDTH - LEFT - 24,
	TOP = 92,
	ROW = 18,
	BAR = 14,
	GROUP_ROW = 26,
	LETTER = 6, /* pixels, roughly */
	TICKS = 14, /* at most */
};

#define THIN 0.33

struct kept {
	struct timeline_slice s;
	char name[TIMELINE_NAME_BYTES];
};

struct arrow_end {
	uint64_t flow;
	uint32_t slice;
};

struct picture {
	struct kept *slice;
	uint32_t nr, nr_rows;
	uint64_t left_out;
	bool used[TIMELINE_TRACKS_MAX];
	uint32_t row[TIMELINE_TRACKS_MAX]; /* track -> its y, 0: not drawn */
	uint32_t track[TRACKS_DRAWN];	   /* row -> track */
	uint64_t from_ns, to_ns;
};

static const struct {
	const char *fill, *title;
} colors[SLICE_KINDS] = {
	[SLICE_GUEST] = {"#7fbf7b", "in guest mode"},
	[SLICE_KERNEL] = {"#f1a340", "exit, in KVM"},
	[SLICE_USERSPACE] = {"#d7301f", "in the VMM"},
	[SLICE_HALTED] = {"#d9d9d9", "halted"},
	[SLICE_PREEMPTED] = {"#998ec3", "preempted"},
	[SLICE_BLOCKED] = {"#bf812d", "blocked"},
	[SLICE_RUNNING] = {"#80b1d3", "thread on a CPU"},
	[SLICE_TASK] = {"#66c2a5", "guest task"},
	[SLICE_IRQ] = {"#e78ac3", "guest interrupt"},
	[SLICE_REQUEST] = {"#4393c3", "request in flight"},
	[SLICE_INSTANT] = {"#000000", "kick, interrupt, completion"},
	[SLICE_SPAN] = {"#f1a340", "span"},
};

/* ---- keeping ---- */

static int picture_open(struct timeline *t)
{
	struct picture *p = calloc(1, sizeof(*p));

	t->state = p;
	if (!p)
		return fail(-ENOMEM, "out of memory");
	p->from_ns = UINT64_MAX;
	return 0;
}

static void no_group(struct timeline *t, uint32_t group)
{
	(void)t;
	(void)group;
}

static void picture_slice(struct timeline *t, const struct timeline_slice *s)
{
	struct picture *p = t->state;
	struct kept *k;

	if (p->nr == SLICES_MAX || array_room(p->slice, p->nr)) {
		p->left_out++;
		return;
	}
	k = &p->slice[p->nr++];
	k->s = *s;
	k->s.name = NULL;
	snprintf(k->name, sizeof(k->name), "%s", s->name);
	p->used[s->track] = true;
	p->from_ns = s->start_ns < p->from_ns ? s->start_ns : p->from_ns;
	p->to_ns = s->end_ns > p->to_ns ? s->end_ns : p->to_ns;
}

/* ---- layout ---- */

static int track_compare(const void *a, const void *b, void *timeline)
{
	const struct timeline *t = timeline;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct timeline_track *x = &t->track[i], *y = &t->track[j];

	if (t->group[x->group].guest != t->group[y->group].guest)
		return t->group[x->group].guest ? 1 : -1;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return i < j ? -1 : i > j;
}

/* Gives rows to the tracks that have something. Returns the height. */
static uint32_t rows_make(struct timeline *t, struct picture *p)
{
	uint32_t y = TOP, group = UINT32_MAX, nr = 0, *sorted = malloc((t->nr_tracks + 1) * 4ul);

	if (!sorted)
		return y;
	for (uint32_t i = 0; i < t->nr_tracks; i++)
		if (p->used[i])
			sorted[nr++] = i;
	qsort_r(sorted, nr, sizeof(*sorted), track_compare, t);
	for (uint32_t i = 0; i < nr && p->nr_rows < TRACKS_DRAWN; i++) {
		if (t->track[sorted[i]].group != group)
			y += GROUP_ROW;
		group = t->track[sorted[i]].group;
		p->track[p->nr_rows++] = sorted[i];
		p->row[sorted[i]] = y;
		y += ROW;
	}
	free(sorted);
	return y;
}

static double x_of(const struct picture *p, uint64_t ns)
{
	double span = (double)(p->to_ns > p->from_ns ? p->to_ns - p->from_ns : 1);

	return LEFT + (double)(ns - p->from_ns) / span * PLOT;
}

/* ---- drawing ---- */

static void draw_rows(struct timeline *t, const struct picture *p, FILE *f)
{
	uint32_t group = UINT32_MAX;

	for (uint32_t i = 0; i < p->nr_rows; i++) {
		const struct timeline_track *tr = &t->track[p->track[i]];
		uint32_t y = p->row[p->track[i]];

		if (tr->group != group) {
			group = tr->group;
			fprintf(f, "<text x=\"12\" y=\"%u\" font-weight=\"600\" font-size=\"13\">",
				y - 6);
			put_markup(f, t->group[group].name);
			fputs("</text>\n", f);
		}
		fprintf(f, "<text x=\"%d\" y=\"%u\" text-anchor=\"end\">", LEFT - 8, y + 11);
		put_markup(f, tr->name);
		fprintf(f,
			"</text><path d=\"M%d %u h%d\" stroke=\"#eee\"/>\n", LEFT, y + ROW - 2,
			PLOT);
	}
}

static void draw_title(FILE *f, const struct kept *k, uint64_t start_ns)
{
	char length[16], from[16];

	fputs("<title>", f);
	put_markup(f, k->name);
	if (k->s.kind != SLICE_INSTANT)
		fprintf(f, " \xc2\xb7 %s",
			duration_print(k->s.end_ns - k->s.start_ns, length, sizeof(length)));
	fprintf(f, " \xc2\xb7 at %s</title>",
		duration_print(k->s.start_ns - start_ns, from, sizeof(from)));
}

static void draw_bar(const struct picture *p, const struct kept *k, double x, double width,
		     FILE *f)
{
	uint32_t y = p->row[k->s.track];

	fprintf(f, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" fill=\"%s\">", x, y,
		width < THIN ? THIN : width, BAR, colors[k->s.kind].fill);
	draw_title(f, k, p->from_ns);
	fputs("</rect>\n", f);
	if (width > (double)LETTER * (double)strlen(k->name) + 4) {
		fprintf(f, "<text x=\"%.1f\" y=\"%u\" font-size=\"10\" pointer-events=\"none\">",
			x + 2, y + 11);
		put_markup(f, k->name);
		fputs("</text>\n", f);
	}
}

static void draw_slices(struct timeline *t, const struct picture *p, FILE *f)
{
	double *drawn_to = calloc(t->nr_tracks + 1ul, sizeof(*drawn_to));

	for (uint32_t i = 0; drawn_to && i < p->nr; i++) {
		const struct kept *k = &p->slice[i];
		double x = x_of(p, k->s.start_ns), end = x_of(p, k->s.end_ns);
		uint32_t y = p->row[k->s.track];

		if (!y)
			continue;
		if (k->s.kind == SLICE_INSTANT) {
			fprintf(f, "<path d=\"M%.2f %u l3 6 h-6 z\">", x, y + 4);
			draw_title(f, k, p->from_ns);
			fputs("</path>\n", f);
			continue;
		}
		if (end - drawn_to[k->s.track] < THIN)
			continue;
		x = x < drawn_to[k->s.track] ? drawn_to[k->s.track] : x;
		draw_bar(p, k, x, end - x, f);
		drawn_to[k->s.track] = end - x < THIN ? x + THIN : end;
	}
	free(drawn_to);
}

/* ---- arrows ---- */

static int arrow_compare(const void *a, const void *b, void *picture)
{
	const struct picture *p = picture;
	const struct arrow_end *x = a, *y = b;
	uint64_t xs, ys;

	if (x->flow != y->flow)
		return x->flow < y->flow ? -1 : 1;
	xs = p->slice[x->slice].s.start_ns;
	ys = p->slice[y->slice].s.start_ns;
	return (xs > ys) - (xs < ys);
}

static void draw_arrow(const struct picture *p, const struct timeline_slice *a,
		       const struct timeline_slice *b, FILE *f)
{
	bool after = a->end_ns <= b->start_ns; /* else b lies within a */
	double x1 = x_of(p, after ? a->end_ns : a->start_ns), x2 = x_of(p, b->start_ns);
	uint32_t y1 = p->row[a->track], y2 = p->row[b->track];
	double bend = x2 - x1 > 24 ? (x2 - x1) / 2 : 12;

	if (!y1 || !y2)
		return;
	fprintf(f,
		"<path d=\"M%.1f %u C%.1f %u %.1f %u %.1f %u\" fill=\"none\" stroke=\"#333\" "
		"stroke-width=\"0.8\" marker-end=\"url(#tip)\" opacity=\"0.7\"/>\n",
		x1, y1 + BAR / 2, x1 + bend, y1 + BAR / 2, x2 - bend, y2 + BAR / 2, x2,
		y2 + BAR / 2);
}

static void draw_arrows(struct picture *p, FILE *f)
{
	struct arrow_end *end = malloc(((size_t)p->nr * TIMELINE_FLOWS + 1) * sizeof(*end));
	size_t nr = 0;

	for (uint32_t i = 0; end && i < p->nr; i++)
		for (unsigned int j = 0; j < p->slice[i].s.nr_flows; j++)
			end[nr++] = (struct arrow_end){p->slice[i].s.flow[j], i};
	if (end)
		qsort_r(end, nr, sizeof(*end), arrow_compare, p);
	for (size_t i = 1; i < nr; i++)
		if (end[i].flow == end[i - 1].flow)
			draw_arrow(p, &p->slice[end[i - 1].slice].s, &p->slice[end[i].slice].s, f);
	free(end);
}

/* ---- around it ---- */

static void draw_axis(const struct picture *p, uint32_t bottom, FILE *f)
{
	uint64_t span = p->to_ns > p->from_ns ? p->to_ns - p->from_ns : 1, step = 1;
	char text[16];

	for (unsigned int i = 0; span / step > TICKS; i++) /* 1, 2, 5, 10, 20, ... */
		step = i % 3 == 1 ? step / 2 * 5 : step * 2;
	for (uint64_t ns = 0; ns <= span; ns += step) {
		double x = LEFT + (double)PLOT * (double)ns / (double)span;

		fprintf(f,
			"<path d=\"M%.1f %d V%u\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%d\" "
			"text-anchor=\"middle\" fill=\"#666\">%s</text>\n",
			x, TOP, bottom, x, TOP - 6,
			duration_print(ns, text, sizeof(text)));
	}
}

static void draw_legend(const struct picture *p, FILE *f)
{
	bool seen[SLICE_KINDS] = {false};
	unsigned int x = LEFT;

	for (uint32_t i = 0; i < p->nr; i++)
		seen[p->slice[i].s.kind] = true;
	for (unsigned int k = 0; k < SLICE_KINDS; k++) {
		if (!seen[k])
			continue;
		fprintf(f,
			"<rect x=\"%u\" y=\"54\" width=\"11\" height=\"11\" fill=\"%s\"/><text "
			"x=\"%u\" y=\"64\">%s</text>\n",
			x, colors[k].fill, x + 15, colors[k].title);
		x += 28 + LETTER * (unsigned int)strlen(colors[k].title);
	}
}

static void picture_draw(struct timeline *t, FILE *f)
{
	struct picture *p = t->state;
	uint32_t height;
	char text[16], at[16];

	if (!p->nr)
		p->from_ns = p->to_ns = 0;
	height = rows_make(t, p) + 20;
	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 "
		"0 "
		"%d %u\" font-family=\"system-ui, sans-serif\" font-size=\"11\" fill=\"#222\">\n"
		"<defs><marker id=\"tip\" markerWidth=\"6\" markerHeight=\"6\" refX=\"5\" "
		"refY=\"3\" orient=\"auto\"><path d=\"M0 0 L6 3 L0 6 z\" fill=\"#333\"/></marker>"
		"</defs>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		WIDTH, height, WIDTH, height);
	fputs("<text x=\"12\" y=\"26\" font-size=\"17\" font-weight=\"600\">Timeline</text>\n", f);
	fprintf(f, "<text x=\"12\" y=\"44\" fill=\"#666\">");
	put_markup(f, t->report->reader->info.file);
	fprintf(f,
		" \xc2\xb7 %s, from %s after the trace's start \xc2\xb7 %u slices \xc2\xb7 %" PRIu64
		" events lost</text>\n",
		duration_print(p->to_ns - p->from_ns, text, sizeof(text)),
		duration_print(p->from_ns > t->start_ns ? p->from_ns - t->start_ns : 0, at,
			       sizeof(at)),
		p->nr, t->report->reader->info.lost);
	draw_legend(p, f);
	draw_axis(p, height - 12, f);
	draw_rows(t, p, f);
	draw_slices(t, p, f);
	draw_arrows(p, f);
	if (!p->nr)
		fprintf(f, "<text x=\"%d\" y=\"%d\">nothing in this time window</text>\n", LEFT,
			TOP + 16);
	fputs("</svg>\n", f);
}

static void picture_caveats(struct timeline *t)
{
	const struct picture *p = t->state;
	char line[128];

	if (p->left_out) {
		snprintf(line, sizeof(line),
			 "%" PRIu64
			 " slices are not shown: select a shorter time (--since, --period)",
			 p->left_out);
		json_array_append_new(t->report->caveats, json_string(line));
	}
}

static void no_track(struct timeline *t, uint32_t track)
{
	(void)t;
	(void)track;
}

static int svg_close(struct timeline *t)
{
	struct picture *p = t->state;

	if (!p->nr)
		report_empty(t->report);
	picture_draw(t, t->report->out->file);
	free(p->slice);
	return 0;
}

static int html_close(struct timeline *t)
{
	struct picture *p = t->state;
	FILE *f = t->report->out->file;
	json_t *head, *caveat;
	size_t i;

	if (!p->nr)
		report_empty(t->report);
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hostrace "
	      "timeline</title></head>\n<body style=\"font-family: system-ui, sans-serif; margin: "
	      "2em\">\n",
	      f);
	picture_draw(t, f);
	picture_caveats(t);
	head = t->report->head(t->report->inputs, t->report->caveats);
	fputs("<ul style=\"color: #555\">\n", f);
	json_array_foreach (json_object_get(head, "caveats"), i, caveat) {
		fputs("<li>", f);
		put_markup(f, json_string_value(caveat));
		fputs("</li>\n", f);
	}
	fputs("</ul></body></html>\n", f);
	json_decref(head);
	free(p->slice);
	return 0;
}

const struct timeline_ops svg_timeline = {picture_open, no_group, no_track, picture_slice,
					  svg_close};
const struct timeline_ops html_timeline = {picture_open, no_group, no_track, picture_slice,
					   html_close};
