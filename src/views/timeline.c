// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An analyzer's spans as tracks: one for each thing that they are grouped by, and further lanes where they overlap.
 * Spans are kept until the end, because they come in the order in which they ended.
 */
#include <errno.h>

#include "analyzers/timeline/timeline.h"
#include "base/error.h"
#include "base/order.h"
#include "views/view.h"

enum { LANES_MAX = 4096 }; /* tracks of all labels */

struct lane {
	uint64_t label[LABELS_MAX];
	unsigned int nth; /* lane of its label */
	uint64_t busy_until_ns;
	uint32_t track;
};

struct state {
	struct kept_spans kept;
	struct lane lane[LANES_MAX];
	unsigned int nr_lanes;
};

static int state_open(struct folding *f)
{
	f->state = calloc(1, sizeof(struct state));
	return f->state ? 0 : fail(-ENOMEM, "out of memory");
}

static int by_start(const void *a, const void *b)
{
	const struct span *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns < y->end_ns ? -1 : 1;
	for (unsigned int i = 0; i < LABELS_MAX; i++)
		if (x->label[i] != y->label[i])
			return x->label[i] < y->label[i] ? -1 : 1;
	return order_u64(x->tid, y->tid);
}

/* "reason=HLT vcpu=0" */
static void label_print(const struct folding *f, const uint64_t *label, char *to, size_t size)
{
	unsigned int nr;
	const struct label *l = pairing_labels(f->pairing, &nr);
	size_t len = 0;
	char text[64];

	*to = '\0';
	for (unsigned int i = 0; i < nr && len < size - 1; i++)
		len += (size_t)snprintf(to + len, size - len, "%s%s=%s", i ? " " : "", l[i].name,
					pairing_label_text(f->pairing, i, label[i], text,
							   sizeof(text)));
	if (!nr)
		snprintf(to, size, "%s", f->analyzer->name);
}

/* The label's first lane that is free at this time. */
static struct lane *lane_get(struct folding *f, struct timeline *t, uint32_t group,
			     const struct span *s)
{
	struct state *st = f->state;
	struct lane *lane;
	unsigned int nth = 0;
	char name[128];

	for (unsigned int i = 0; i < st->nr_lanes; i++) {
		lane = &st->lane[i];
		if (memcmp(lane->label, s->label, sizeof(lane->label)))
			continue;
		if (lane->busy_until_ns <= s->start_ns)
			return lane;
		nth++;
	}
	if (st->nr_lanes == LANES_MAX)
		return NULL;
	lane = &st->lane[st->nr_lanes++];
	*lane = (struct lane){.nth = nth};
	memcpy(lane->label, s->label, sizeof(lane->label));
	label_print(f, s->label, name, sizeof(name));
	if (nth)
		lane->track = timeline_track(t, group, TRACK_SPAN, st->nr_lanes, 0, "%s #%u", name,
					     nth + 1);
	else
		lane->track = timeline_track(t, group, TRACK_SPAN, st->nr_lanes, 0, "%s", name);
	return lane;
}

static void spans_draw(struct folding *f, struct timeline *t)
{
	struct state *st = f->state;
	uint32_t group = timeline_group(t, 0, false, "%s", f->analyzer->name);
	char name[TIMELINE_NAME_BYTES];

	for (size_t i = 0; i < st->kept.nr; i++) {
		const struct span *s = &st->kept.span[i];
		struct lane *lane = lane_get(f, t, group, s);
		struct timeline_slice slice = {
			.track = lane ? lane->track : UINT32_MAX,
			.kind = s->end_ns > s->start_ns ? SLICE_SPAN : SLICE_INSTANT,
			.start_ns = s->start_ns,
			.end_ns = s->end_ns,
			.name = name};

		label_print(f, s->label, name, sizeof(name));
		if (lane)
			lane->busy_until_ns = s->end_ns;
		timeline_slice(t, &slice);
	}
}

static int state_draw(struct folding *f, struct report *r)
{
	struct state *st = f->state;
	struct timeline *t;
	int err = timeline_open(format_find(r->out->format)->timeline, r, r->caveats, f->start_ns,
				&t);

	if (!err)
		timeline_window(t, f->since_ns, f->until_ns);
	if (err)
		return err;
	if (st->kept.nr)
		qsort(st->kept.span, st->kept.nr, sizeof(*st->kept.span), by_start);
	spans_draw(f, t);
	t->not_drawn += st->kept.left_out;
	return timeline_close(t);
}

const struct view timeline_view = {
	.name = "timeline",
	.summary = "spans as tracks",
	.formats = timeline_formats,
	.open = state_open,
	.span = kept_spans_add,
	.clips = true,
	.draw = state_draw,
	.by_vm = true,
	.close = kept_spans_close,
};
