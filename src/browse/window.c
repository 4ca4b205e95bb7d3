// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A window of the timeline. From the index: the items that it contains, whose columns become as wide as a pixel, or
 * as the index's own. From the events: what they show, and of the index what lasts longer than a column, which may have
 * begun before them. A track is flat: what the events show where the index has a slice is a part of that slice.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "browse/internal.h"

/* A track of the events, and what of the index it is. */
struct read_track {
	uint32_t track;	    /* of the index; UINT32_MAX: none */
	bool found;
};

struct window_making {
	struct browse *b;
	struct browse_window *w;
	uint64_t since_ns, until_ns; /* absolute */
};

struct reading {
	struct browse *b;
	browse_slice_fn *slice;
	void *arg;
	struct read_track *track; /* by track of the events */
	uint32_t nr_tracks;
	int err;
};

static void sum_add(struct browse_window *w, const struct bands *bands, uint32_t track,
		    const struct band_item *item)
{
	struct browse_sum *s = &w->sums[bands->index[track] - 1][item->kind];

	s->ns += item->ns;
	s->count += item->count;
}

/* Slices that become part of a band are cut at the window's ends before. */
static int item_put(struct window_making *r, uint32_t track, const struct band_item *item)
{
	struct bands *bands = r->w->bands;
	struct timeline_slice part = {.start_ns = item->start_ns,
				      .end_ns = item->start_ns + item->ns};
	struct band_item cut = *item;
	int err;

	if (!item->is_band && !timeline_clip(&part, r->since_ns, r->until_ns))
		return 0;
	if (!item->is_band) {
		cut.start_ns = part.start_ns;
		cut.ns = part.end_ns - part.start_ns;
	}
	err = bands_add_item(bands, track,
			     !item->is_band && cut.ns >= bands->resolution_ns ? item : &cut);
	if (!err && bands->index[track])
		sum_add(r->w, bands, track, &cut);
	return err ? fail(err, "out of memory") : 0;
}

/* ---- of the index ---- */

/* The first item of a sorted list that begins at this time or later. */
static uint32_t item_find(const struct band_track *t, uint64_t ns)
{
	uint32_t low = 0, high = t->nr;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->item[middle].start_ns < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/*
 * The newest slice before item i: of a flat track it is the only one that can last until ns. A column of a band that
 * ends before is not within a slice; points may be.
 */
static const struct band_item *slice_before(const struct bands *b, const struct band_track *t,
					    uint32_t i, uint64_t ns)
{
	while (i-- > 0) {
		const struct band_item *item = &t->item[i];

		if (!item->is_band && item->ns)
			return item;
		if (item->is_band && item->kind != SLICE_INSTANT &&
		    item->start_ns + b->resolution_ns <= ns)
			return NULL;
	}
	return NULL;
}

static int track_put(struct window_making *r, const struct band_track *t, bool slices_only)
{
	uint32_t first = item_find(t, r->since_ns);
	const struct band_item *before = slice_before(r->b->bands, t, first, r->since_ns);
	int err = before ? item_put(r, t->track, before) : 0;

	for (uint32_t i = first; i < t->nr && t->item[i].start_ns < r->until_ns && !err; i++)
		if (!slices_only || !t->item[i].is_band)
			err = item_put(r, t->track, &t->item[i]);
	return err;
}

static int index_put(struct window_making *r, bool slices_only)
{
	const struct bands *bands = r->b->bands;
	int err = 0;

	for (uint32_t i = 0; i < bands->nr_tracks && !err; i++)
		err = track_put(r, &bands->track[i], slices_only);
	return err;
}

uint64_t browse_count(const struct browse *browse, uint64_t since_ns, uint64_t until_ns)
{
	const struct bands *b = browse->bands;
	uint64_t count = 0;

	for (uint32_t i = 0; i < b->nr_tracks; i++) {
		const struct band_track *t = &b->track[i];

		for (uint32_t k = item_find(t, since_ns - since_ns % b->resolution_ns);
		     k < t->nr && t->item[k].start_ns < until_ns; k++)
			count += t->item[k].count;
	}
	return count;
}

/* ---- of the events ---- */

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same_track(const struct timeline *t, const struct timeline_track *x,
		       const struct timeline *of, const struct timeline_track *y)
{
	const struct timeline_group *g = &t->group[x->group], *h = &of->group[y->group];
	uint32_t rank = (uint32_t)(x->order >> 32);

	if (g->pid != h->pid || g->guest != h->guest || !same_text(g->name, h->name) ||
	    rank != (uint32_t)(y->order >> 32))
		return false;
	if (rank == TRACK_QUEUE) /* whose number is that of their first events */
		return same_text(x->name, y->name);
	return x->order == y->order && x->tid == y->tid;
}

static uint32_t track_find(const struct timeline *index, const struct timeline *t, uint32_t track)
{
	for (uint32_t i = 0; i < index->nr_tracks; i++)
		if (same_track(t, &t->track[track], index, &index->track[i]))
			return i;
	return UINT32_MAX;
}

static struct read_track *read_track_get(struct reading *r, const struct timeline *t,
					 uint32_t track)
{
	while (r->nr_tracks <= track)
		if (array_add(r->track, r->nr_tracks, (struct read_track){0}))
			return NULL;
	if (!r->track[track].found)
		r->track[track] = (struct read_track){
			.found = true, .track = track_find(browse_timeline(r->b), t, track)};
	return &r->track[track];
}

/* Has the index a slice at that time on this track? */
static bool index_has(struct reading *r, struct read_track *rt, const struct timeline_slice *s)
{
	const struct bands *bands = r->b->bands;
	uint32_t index = bands->index[rt->track];
	const struct band_track *t = index ? &bands->track[index - 1] : NULL;
	const struct band_item *item;

	if (!t || s->kind == SLICE_INSTANT) /* which is never long */
		return false;
	item = slice_before(bands, t, item_find(t, s->end_ns),
			    s->start_ns);
	return item && item->start_ns + item->ns > s->start_ns;
}

/*
 * The index has each slice that is as long as a column, so another one that long is none: it would last from the begin
 * or until the end of what was read, but events beyond deny it.
 */
static bool is_long(const struct reading *r, const struct timeline_slice *s)
{
	return s->kind != SLICE_INSTANT && s->end_ns - s->start_ns >= r->b->bands->resolution_ns;
}

static void reading_slice(void *arg, struct timeline *t, const struct timeline_slice *s)
{
	struct reading *r = arg;
	struct read_track *rt = read_track_get(r, t, s->track);

	if (r->err)
		return;
	if (!rt)
		r->err = fail(-ENOMEM, "out of memory");
	else if (!is_long(r, s) && (rt->track == UINT32_MAX || !index_has(r, rt, s)))
		r->err = r->slice(r->arg, rt->track, s);
}

int browse_set(struct browse *b, struct input_options *options, uint64_t since_ns,
	       uint64_t until_ns, struct input_set **ret)
{
	*options = *b->set->options;
	options->since = (struct time_arg){.text = "", .ns = since_ns};
	options->until = (struct time_arg){.text = "", .ns = until_ns};
	options->period = (struct time_arg){0};
	options->is_absolute = true;
	return input_set_copy_for(b->set, options, ret);
}

static int reading_run(struct reading *r, uint64_t since_ns, uint64_t until_ns)
{
	_cleanup_input_set_ struct input_set *set = NULL;
	struct input_options options;
	struct browse_pass pass = {.names = browse_index(r->b)->names,
				   .slice = reading_slice,
				   .arg = r,
				   .from_ns = since_ns,
				   .to_ns = until_ns};
	struct query query = {.command = "view", .input = &options, .of = &pass};
	struct report_ops ops = browse_report;
	struct result result;
	int err;

	ops.reads = (ops.reads & ~(unsigned int)READ_BEFORE) | READ_WINDOW;
	err = browse_set(r->b, &options, since_ns, until_ns, &set);
	if (err)
		return err;
	err = result_init(&result, &ops, &query);
	if (!err)
		err = report_run(&result, set);
	result_close(&result);
	return err ? err : r->err;
}

/* What is shorter than a column and reaches into the window is within a column before and after it. */
int browse_read(struct browse *b, uint64_t since_ns, uint64_t until_ns, browse_slice_fn *slice,
		void *arg)
{
	struct reading r = {.b = b, .slice = slice, .arg = arg};
	uint64_t lead_ns = b->bands->resolution_ns, start_ns = input_set_start_ns(b->set);
	int err;

	since_ns = since_ns > start_ns + lead_ns ? since_ns - lead_ns : start_ns;
	until_ns = b->set->until_ns > until_ns + lead_ns ? until_ns + lead_ns : b->set->until_ns;
	err = reading_run(&r, since_ns, until_ns);
	free(r.track);
	return browse_files_check(b) ?: err;
}

static int window_slice(void *arg, uint32_t track, const struct timeline_slice *s)
{
	struct window_making *r = arg;
	struct timeline_slice part = *s;
	struct band_item item = {.start_ns = s->start_ns,
				 .ns = s->end_ns - s->start_ns,
				 .longest_ns = s->end_ns - s->start_ns,
				 .count = 1,
				 .kind = s->kind};

	if (track == UINT32_MAX) {
		r->w->not_drawn += timeline_clip(&part, r->since_ns, r->until_ns);
		return 0;
	}
	snprintf(item.name, sizeof(item.name), "%s", s->name);
	return item_put(r, track, &item);
}

/* ---- public ---- */

static int window_init(struct browse_window *w)
{
	w->bands = bands_new();
	w->sums = calloc(BANDS_TRACKS_MAX, sizeof(*w->sums));
	return w->bands && w->sums ? 0 : fail(-ENOMEM, "out of memory");
}

int browse_window(struct browse *b, uint64_t from_ns, uint64_t to_ns, unsigned int width,
		  struct browse_window *ret)
{
	uint64_t column = b->bands->resolution_ns, span_ns = to_ns - from_ns, cell;
	struct window_making r = {.b = b, .w = ret};
	int err;

	*ret = (struct browse_window){.from_ns = from_ns, .to_ns = to_ns};
	err = window_init(ret);
	if (err)
		return err;
	cell = (span_ns + width - 1) / width;
	r.since_ns = b->start_ns + from_ns;
	r.until_ns = b->start_ns + to_ns;
	ret->exact = !column ||
		     browse_count(b, r.since_ns, r.until_ns) <= BROWSE_READ_ITEMS_MAX;
	if (!ret->exact) {
		cell = (cell + column - 1) / column * column;
		r.since_ns -= r.since_ns % cell;
		r.until_ns = (r.until_ns + cell - 1) / cell * cell;
		ret->from_ns = r.since_ns > b->start_ns ? r.since_ns - b->start_ns : 0;
		ret->to_ns = r.until_ns - b->start_ns;
	}
	ret->bands->resolution_ns = cell;
	ret->bands->items_max = BROWSE_WINDOW_ITEMS_MAX;
	err = index_put(&r, column && ret->exact);
	if (!err && column && ret->exact)
		err = browse_read(b, r.since_ns, r.until_ns, window_slice, &r);
	if (!err)
		bands_end(ret->bands);
	return err;
}

void browse_window_close(struct browse_window *w)
{
	bands_free(w->bands);
	free(w->sums);
}
