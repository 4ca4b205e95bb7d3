// SPDX-License-Identifier: GPL-2.0-or-later
/* Durations by powers of two. */
#include <errno.h>

#include "base/error.h"
#include "views/view.h"

static int histogram_open(struct folding *f)
{
	f->state = calloc(1, sizeof(struct histogram));
	return f->state ? 0 : fail(-ENOMEM, "out of memory");
}

static int histogram_span(struct folding *f, const struct span *s)
{
	struct histogram *h = f->state;
	uint64_t ns = s->end_ns - s->start_ns;

	h->count[ns ? 64 - __builtin_clzll(ns) : 0]++;
	return 0;
}

static int histogram_spans(void *state, const struct spans *s)
{
	struct histogram *h = state;

	for (unsigned int i = 0; i < s->nr; i++)
		h->count[s->ns[i] ? 64 - __builtin_clzll(s->ns[i]) : 0]++;
	return 0;
}

static int histogram_merge(void *state, void *from)
{
	struct histogram *h = state, *theirs = from;

	for (unsigned int i = 0; i < HISTOGRAM_ROWS; i++)
		h->count[i] += theirs->count[i];
	return 0;
}

static int histogram_draw(struct folding *f, struct report *r)
{
	struct histogram *h = f->state;

	h->first = HISTOGRAM_ROWS;
	for (unsigned int i = 0; i < HISTOGRAM_ROWS; i++)
		if (h->count[i]) {
			h->first = h->first == HISTOGRAM_ROWS ? i : h->first;
			h->last = i;
		}
	return format_find(r->out->format)->histogram(r, h);
}

static void histogram_close(struct folding *f)
{
	free(f->state);
}

const struct view histogram_view = {
	.name = "histogram",
	.summary = "durations by powers of two",
	.formats = histogram_formats,
	.open = histogram_open,
	.span = histogram_span,
	.spans = histogram_spans,
	.merge = histogram_merge,
	.draw = histogram_draw,
	.close = histogram_close,
};
