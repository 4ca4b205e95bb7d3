// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timeline of any length in a bounded space: for each track and column of time, how long each kind of slice was on.
 * For the page of `hostrace report`, as a value of JSON (struct output.tree):
 *
 *	"result": {"t0_ns", "column_ns", "columns", "tracks": [{"group", "name", "slices", "kinds":
 *	 {KIND: [[column, ns or number of points]...]}}...], "tracks_not_shown"}
 */
#include <errno.h>
#include <string.h>

#include "analyzers/timeline/timeline.h"
#include "base/json_text.h"
#include "output/report.h"

enum {
	COLUMNS = 256,
	TRACKS_MAX = 256, /* that are summed up */
	SHOWN_MAX = 48,
	FIRST_COLUMN_NS = 1000,
};

struct band {
	uint64_t slices, busy_ns;
	uint64_t ns[SLICE_KINDS][COLUMNS];
};

struct bands {
	uint64_t column_ns;
	unsigned int nr_columns;
	struct band track[TRACKS_MAX]; /* one allocation: timeline_cancel() frees it; untouched tracks cost nothing */
};

static int bands_open(struct timeline *t)
{
	struct bands *b = calloc(1, sizeof(*b));

	t->state = b;
	if (!b)
		return -ENOMEM;
	b->column_ns = FIRST_COLUMN_NS;
	return 0;
}

static void columns_double(struct bands *b, uint32_t nr_tracks)
{
	for (uint32_t i = 0; i < nr_tracks && i < TRACKS_MAX; i++)
		for (unsigned int k = 0; k < SLICE_KINDS && b->track[i].slices; k++) {
			uint64_t *ns = b->track[i].ns[k];

			for (unsigned int x = 0; x < COLUMNS / 2; x++)
				ns[x] = ns[2 * x] + ns[2 * x + 1];
			memset(&ns[COLUMNS / 2], 0, COLUMNS / 2 * sizeof(*ns));
		}
	b->column_ns *= 2;
	b->nr_columns = (b->nr_columns + 1) / 2;
}

/* Its time in each of the columns that it touches. */
static void slice_spread(const struct bands *b, uint64_t *ns, uint64_t from, uint64_t until)
{
	for (uint64_t x = from / b->column_ns; from < until && x < COLUMNS; x++) {
		uint64_t rest = b->column_ns - from % b->column_ns, most = until - from;

		ns[x] += most < rest ? most : rest;
		from += most < rest ? most : rest;
	}
}

static void bands_slice(struct timeline *t, const struct timeline_slice *s)
{
	struct bands *b = t->state;
	uint64_t from = s->start_ns > t->since_ns ? s->start_ns - t->since_ns : 0,
		 until = s->end_ns > t->since_ns ? s->end_ns - t->since_ns : 0;

	if (s->track >= TRACKS_MAX)
		return;
	while (until / b->column_ns >= COLUMNS)
		columns_double(b, t->nr_tracks);
	if (until / b->column_ns >= b->nr_columns)
		b->nr_columns = (unsigned int)(until / b->column_ns) + 1;
	b->track[s->track].slices++;
	b->track[s->track].busy_ns += until - from;
	if (s->kind == SLICE_INSTANT)
		b->track[s->track].ns[s->kind][from / b->column_ns]++;
	else
		slice_spread(b, b->track[s->track].ns[s->kind], from, until);
}

static json_t *kinds_json(const struct bands *b, uint32_t track)
{
	json_t *kinds = json_object();

	for (unsigned int k = 0; k < SLICE_KINDS; k++) {
		json_t *list = json_array();

		for (unsigned int x = 0; x < b->nr_columns; x++)
			if (b->track[track].ns[k][x])
				json_array_append_new(
					list, json_pack("[i,o]", (int)x,
							json_u64(b->track[track].ns[k][x])));
		if (json_array_size(list))
			json_object_set(kinds, slice_kind_name(k), list);
		json_decref(list);
	}
	return kinds;
}

/* vCPUs come before all others, then those with the most time in slices. */
static int by_importance(const void *va, const void *vb, void *timeline)
{
	const struct timeline *t = timeline;
	const struct bands *b = t->state;
	uint32_t x = *(const uint32_t *)va, y = *(const uint32_t *)vb;
	bool vcpu_x = t->track[x].order >> 32 == TRACK_VCPU,
	     vcpu_y = t->track[y].order >> 32 == TRACK_VCPU;

	if (vcpu_x != vcpu_y)
		return vcpu_x ? -1 : 1;
	if (b->track[x].busy_ns != b->track[y].busy_ns)
		return b->track[x].busy_ns > b->track[y].busy_ns ? -1 : 1;
	return (x > y) - (x < y);
}

/* From top to bottom. */
static int by_place(const void *va, const void *vb, void *timeline)
{
	const struct timeline *t = timeline;
	uint32_t x = *(const uint32_t *)va, y = *(const uint32_t *)vb;
	const struct timeline_track *a = &t->track[x], *b = &t->track[y];

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->order != b->order)
		return a->order < b->order ? -1 : 1;
	return (x > y) - (x < y);
}

static json_t *track_json(const struct timeline *t, uint32_t i)
{
	const struct bands *b = t->state;
	const struct timeline_track *tr = &t->track[i];

	return json_pack("{s:o,s:o,s:I,s:o}", "group", json_text(t->group[tr->group].name), "name",
			 json_text(tr->name), "slices", (json_int_t)b->track[i].slices, "kinds",
			 kinds_json(b, i));
}

/* The numbers of the tracks that are shown, in their order. Returns how many. */
static uint32_t tracks_choose(struct timeline *t, uint32_t shown[TRACKS_MAX])
{
	const struct bands *b = t->state;
	uint32_t nr = 0;

	for (uint32_t i = 0; i < t->nr_tracks && i < TRACKS_MAX; i++)
		if (b->track[i].slices)
			shown[nr++] = i;
	qsort_r(shown, nr, sizeof(*shown), by_importance, t);
	nr = nr < SHOWN_MAX ? nr : SHOWN_MAX;
	qsort_r(shown, nr, sizeof(*shown), by_place, t);
	return nr;
}

static json_t *result_make(struct timeline *t)
{
	const struct bands *b = t->state;
	json_t *tracks = json_array();
	uint32_t shown[TRACKS_MAX], nr = tracks_choose(t, shown), written = 0;

	for (uint32_t i = 0; i < nr; i++)
		json_array_append_new(tracks, track_json(t, shown[i]));
	for (uint32_t i = 0; i < t->nr_tracks; i++)
		written += t->track[i].written;
	return json_pack("{s:o,s:o,s:i,s:o,s:i}", "t0_ns", json_u64(t->since_ns), "column_ns",
			 json_u64(b->column_ns), "columns", (int)b->nr_columns, "tracks", tracks,
			 "tracks_not_shown", (int)(written - nr));
}

static int bands_close(struct timeline *t)
{
	const struct report *r = t->report;
	json_t *head;

	if (!t->nr_slices)
		report_empty(r);
	head = r->head(r);
	json_object_set_new(head, "result", result_make(t));
	*r->out->tree = head;
	return 0;
}

const struct timeline_ops bands_timeline = {
	.open = bands_open,
	.slice = bands_slice,
	.close = bands_close,
	.names_at_end = true,
};
