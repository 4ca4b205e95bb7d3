// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timeline as a picture: time to the right, a row for each track, arrows from kicks over requests to interrupts and
 * to their completion in the guest. It holds what analyzers/timeline/bands.h keeps of any recording, as a static
 * drawing, and as data from which the script (timeline.js) draws any part of it that the user zooms into.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/error.h"
#include "base/order.h"
#include "base/units.h"
#include "output/escape.h"
#include "output/palette.h"
#include "output/svg.h"
#include "output/timeline_picture.h"
#include "timeline_js.h"

enum {
	LETTER = 6, /* pixels, roughly */
	TICKS = 14, /* at most */
};

const char *const timeline_titles[SLICE_KINDS] = {
	[SLICE_GUEST] = "in guest mode",
	[SLICE_KERNEL] = "exit, in KVM",
	[SLICE_USERSPACE] = "in the VMM",
	[SLICE_HALTED] = "halted",
	[SLICE_PREEMPTED] = "preempted",
	[SLICE_RUNQUEUE] = "woken, not yet running",
	[SLICE_BLOCKED] = "blocked",
	[SLICE_RUNNING] = "thread on a CPU",
	[SLICE_TASK] = "guest task",
	[SLICE_IRQ] = "guest interrupt",
	[SLICE_REQUEST] = "request in flight",
	[SLICE_INSTANT] = "kick, interrupt, completion",
	[SLICE_SPAN] = "span",
};

const char *timeline_fill(enum slice_kind kind)
{
	return palette_fill(slice_kind_name(kind));
}

/* ---- keeping ---- */

struct picture {
	struct timeline_picture drawing;
	int err;
};

static int picture_open(struct timeline *t)
{
	struct picture *p = calloc(1, sizeof(*p));

	t->state = p;
	if (p)
		p->drawing.bands = bands_new();
	return p && p->drawing.bands ? 0 : fail(-ENOMEM, "out of memory");
}

static void picture_slice(struct timeline *t, const struct timeline_slice *s)
{
	struct picture *p = t->state;

	if (!p->err)
		p->err = bands_add(p->drawing.bands, s);
}

/* ---- layout ---- */

static int track_compare(const void *a, const void *b, void *timeline)
{
	const struct timeline *t = timeline;
	const struct picture *p = t->state;
	uint32_t i = p->drawing.bands->track[*(const uint32_t *)a].track;
	uint32_t j = p->drawing.bands->track[*(const uint32_t *)b].track;
	const struct timeline_track *x = &t->track[i], *y = &t->track[j];

	if (t->group[x->group].guest != t->group[y->group].guest)
		return t->group[x->group].guest ? 1 : -1;
	return order_u64(x->group, y->group) ?: order_u64(x->order, y->order) ?: order_u64(i, j);
}

static void rows_make(struct timeline *t, struct timeline_picture *d)
{
	uint32_t y = PICTURE_TOP, group = UINT32_MAX;

	d->nr_rows = d->bands->nr_tracks;
	for (uint32_t i = 0; i < d->nr_rows; i++)
		d->row[i] = i;
	qsort_r(d->row, d->nr_rows, sizeof(*d->row), track_compare, t);
	for (uint32_t i = 0; i < d->nr_rows; i++) {
		const struct timeline_track *tr = &t->track[d->bands->track[d->row[i]].track];

		if (tr->group != group)
			y += PICTURE_GROUP_ROW;
		group = tr->group;
		d->y[d->row[i]] = y;
		y += PICTURE_ROW;
	}
	d->height = y + 24 + (d->nr_rows ? 0 : PICTURE_GROUP_ROW);
}

/* ---- drawing ---- */

static void labels_draw(const struct timeline *t, const struct timeline_picture *d, FILE *f)
{
	uint32_t group = UINT32_MAX;

	fputs("<g class=\"labels\">\n", f);
	for (uint32_t i = 0; i < d->nr_rows; i++) {
		const struct timeline_track *tr = &t->track[d->bands->track[d->row[i]].track];
		uint32_t y = d->y[d->row[i]];

		if (tr->group != group) {
			group = tr->group;
			fprintf(f, "<text x=\"12\" y=\"%u\" font-weight=\"600\" font-size=\"13\">",
				y - 6);
			put_markup(f, t->group[group].name);
			fputs("</text>\n", f);
		}
		fprintf(f, "<text class=\"track\" x=\"%d\" y=\"%u\" text-anchor=\"end\">",
			PICTURE_LEFT - 8, y + 11);
		put_markup(f, tr->name);
		fputs("</text>\n", f);
	}
	fputs("</g>\n", f);
}

static void axis_draw(const struct timeline_picture *d, FILE *f)
{
	uint64_t span = d->until_ns > d->since_ns ? d->until_ns - d->since_ns : 1;
	uint64_t step = svg_axis_step(span, TICKS);
	char text[16];

	fputs("<g class=\"axis\">\n", f);
	for (uint64_t i = 0; i <= span / step; i++) {
		uint64_t ns = i * step;
		double x = PICTURE_LEFT + (double)PICTURE_PLOT * (double)ns / (double)span;

		fprintf(f,
			"<path d=\"M%.1f %d V%u\" stroke=\"#ddd\"/><text x=\"%.1f\" y=\"%d\" "
			"text-anchor=\"middle\" fill=\"#666\">%s</text>\n",
			x, PICTURE_TOP, d->height - 12, x, PICTURE_TOP - 6,
			duration_print(ns, text, sizeof(text)));
	}
	fputs("</g>\n", f);
}

static void legend_draw(const struct timeline_picture *d, FILE *f)
{
	bool seen[SLICE_KINDS] = {false};
	unsigned int x = PICTURE_LEFT;

	for (uint32_t i = 0; i < d->nr_rows; i++)
		for (uint32_t k = 0; k < d->bands->track[i].nr; k++)
			seen[d->bands->track[i].item[k].kind] = true;
	for (unsigned int k = 0; k < SLICE_KINDS; k++) {
		if (!seen[k])
			continue;
		fprintf(f,
			"<g class=\"key\" transform=\"translate(%u 54)\"><rect width=\"11\" "
			"height=\"11\" fill=\"%s\"/><text x=\"15\" y=\"10\">%s</text></g>\n",
			x, timeline_fill(k), timeline_titles[k]);
		x += 28 + LETTER * (unsigned int)strlen(timeline_titles[k]);
	}
}

/* What the picture does not show singly, and what it does not show. */
static void aggregation_print(const struct timeline *t, const struct bands *b, FILE *f)
{
	char text[16];

	if (b->resolution_ns)
		fprintf(f, " \xc2\xb7 slices below %s are summed up in bands",
			duration_print(b->resolution_ns, text, sizeof(text)));
	if (b->flows_dropped)
		fprintf(f, " \xc2\xb7 arrows below %s are not drawn",
			duration_print(b->flow_resolution_ns, text, sizeof(text)));
	if (b->not_kept)
		fprintf(f, " \xc2\xb7 %" PRIu64 " slices of further tracks are not drawn",
			b->not_kept);
	if (t->not_drawn)
		fprintf(f, " \xc2\xb7 %" PRIu64 " slices were dropped", t->not_drawn);
}

static void head_draw(const struct timeline *t, const struct timeline_picture *d, FILE *f)
{
	char text[16], at[16];

	fprintf(f,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"timeline\" width=\"%d\" "
		"height=\"%u\" viewBox=\"0 0 %d %u\" font-family=\"system-ui, sans-serif\" "
		"font-size=\"11\" fill=\"#222\">\n"
		"<defs><marker id=\"tip\" markerWidth=\"6\" markerHeight=\"6\" refX=\"5\" "
		"refY=\"3\" orient=\"auto\"><path d=\"M0 0 L6 3 L0 6 z\" fill=\"#333\"/></marker>"
		"</defs>\n<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		PICTURE_WIDTH, d->height, PICTURE_WIDTH, d->height);
	fputs("<text x=\"12\" y=\"26\" font-size=\"17\" font-weight=\"600\">Timeline</text>\n"
	      "<text class=\"about\" x=\"12\" y=\"44\" fill=\"#666\">",
	      f);
	put_markup(f, t->report->reader->info.file);
	fprintf(f,
		" \xc2\xb7 %s, from %s after the trace's start \xc2\xb7 %" PRIu64
		" slices \xc2\xb7 "
		"%" PRIu64 " events lost",
		duration_print(d->until_ns - d->since_ns, text, sizeof(text)),
		duration_print(d->since_ns > t->start_ns ? d->since_ns - t->start_ns : 0, at,
			       sizeof(at)),
		d->bands->nr_slices, t->report->reader->info.lost);
	aggregation_print(t, d->bands, f);
	fputs("</text>\n", f);
}

static int picture_draw(struct timeline *t, FILE *f)
{
	struct picture *p = t->state;
	struct timeline_picture *d = &p->drawing;

	if (p->err)
		return p->err;
	if (d->bands->nr_slices) {
		d->since_ns = d->bands->since_ns;
		d->until_ns = d->bands->until_ns;
	} else {
		report_empty(t->report);
	}
	bands_end(d->bands);
	rows_make(t, d);
	head_draw(t, d, f);
	legend_draw(d, f);
	axis_draw(d, f);
	labels_draw(t, d, f);
	timeline_picture_plot(d, f);
	if (d->bands->nr_slices) {
		timeline_picture_data(t, d, f);
		svg_script_put(timeline_js, f);
	} else {
		fprintf(f, "<text x=\"%d\" y=\"%d\">nothing in this time window</text>\n",
			PICTURE_LEFT, PICTURE_TOP + 16);
	}
	fputs("</svg>\n", f);
	return 0;
}

static void picture_free(struct timeline *t)
{
	struct picture *p = t->state;

	if (p)
		bands_free(p->drawing.bands);
	free(p);
	t->state = NULL;
}

static int svg_close(struct timeline *t)
{
	int err = picture_draw(t, t->report->out->file);

	picture_free(t);
	return err;
}

static int html_close(struct timeline *t)
{
	FILE *f = t->report->out->file;
	json_t *head, *caveat;
	size_t i;
	int err;

	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hostrace "
	      "timeline</title></head>\n<body style=\"font-family: system-ui, sans-serif; margin: "
	      "2em\">\n",
	      f);
	err = picture_draw(t, f);
	picture_free(t);
	if (err)
		return err;
	head = t->report->head(t->report);
	fputs("<ul style=\"color: #555\">\n", f);
	json_array_foreach (json_object_get(head, "caveats"), i, caveat) {
		fputs("<li>", f);
		put_markup(f, json_string_value(caveat));
		fputs("</li>\n", f);
	}
	fputs("</ul></body></html>\n", f);
	json_decref(head);
	return 0;
}

const struct timeline_ops svg_timeline = {picture_open, NULL, NULL, picture_slice,
					  svg_close, NULL, true};
const struct timeline_ops html_timeline = {picture_open, NULL, NULL, picture_slice,
					   html_close, NULL, true};
