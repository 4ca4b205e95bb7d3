// SPDX-License-Identifier: GPL-2.0-or-later
/* Items of each track in order of time; when all tracks together are full, short ones are joined per column of time. */
#include <errno.h>

#include "analyzers/timeline/bands.h"
#include "base/array.h"

enum { LOOK_BACK = 32 }; /* items; a band that lies further back is found when the resolution doubles */

static int item_compare(const void *a, const void *b)
{
	const struct band_item *x = a, *y = b;

	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	if (x->is_band != y->is_band)
		return x->is_band ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->is_band ? strcmp(x->name, y->name) : (x->ns > y->ns) - (x->ns < y->ns);
}

static bool same_band(const struct bands *b, const struct band_item *x, const struct band_item *y)
{
	return x->is_band && y->is_band && x->start_ns == y->start_ns && x->kind == y->kind &&
	       (!b->exit_names || (x->kind != SLICE_KERNEL && x->kind != SLICE_USERSPACE) ||
		!strcmp(x->name, y->name));
}

static void band_join(struct band_item *band, const struct band_item *more)
{
	band->ns += more->ns;
	band->count += more->count;
	if (more->longest_ns > band->longest_ns) {
		band->longest_ns = more->longest_ns;
		memcpy(band->name, more->name, sizeof(band->name));
	}
}

/* Divides a slice that is shorter than the resolution among its columns: one, or two. */
static unsigned int slice_divide(const struct bands *b, const struct band_item *s,
				 struct band_item part[2])
{
	uint64_t column = s->start_ns - s->start_ns % b->resolution_ns;
	uint64_t next = column + b->resolution_ns, end = s->start_ns + s->ns;

	part[0] = *s;
	part[0].is_band = true;
	part[0].start_ns = column;
	if (end <= next)
		return 1;
	part[1] = part[0];
	part[0].ns = next - s->start_ns;
	part[1].start_ns = next;
	part[1].ns = end - next;
	part[1].count = 0;
	return 2;
}

static int item_append(struct bands *b, struct band_track *t, const struct band_item *item)
{
	if (array_add(t->item, t->nr, *item))
		return -ENOMEM;
	b->nr_items++;
	return 0;
}

/* Into its band among the newest items, or a new one. */
static int band_add(struct bands *b, struct band_track *t, const struct band_item *part)
{
	uint32_t first = t->nr > LOOK_BACK ? t->nr - LOOK_BACK : 0;

	for (uint32_t i = t->nr; i-- > first;)
		if (same_band(b, &t->item[i], part)) {
			band_join(&t->item[i], part);
			return 0;
		}
	return item_append(b, t, part);
}

static bool is_short(const struct bands *b, const struct band_item *item)
{
	return !item->is_band && item->ns < b->resolution_ns;
}

static int item_add(struct bands *b, struct band_track *t, const struct band_item *item)
{
	struct band_item part[2];
	int err = 0;

	if (!is_short(b, item))
		return item_append(b, t, item);
	for (unsigned int i = 0, nr = slice_divide(b, item, part); i < nr && !err; i++)
		err = band_add(b, t, &part[i]);
	return err;
}

/* To the present resolution, which has doubled. */
static int track_coarsen(struct bands *b, struct band_track *t)
{
	struct band_track old = *t;
	int err = 0;

	*t = (struct band_track){.track = old.track};
	b->nr_items -= old.nr;
	if (old.nr)
		qsort(old.item, old.nr, sizeof(*old.item), item_compare);
	for (uint32_t i = 0; i < old.nr && !err; i++) {
		struct band_item *item = &old.item[i];

		if (item->is_band) {
			item->start_ns -= item->start_ns % b->resolution_ns;
			err = band_add(b, t, item);
		} else {
			err = item_add(b, t, item);
		}
	}
	free(old.item);
	return err;
}

static int coarsen(struct bands *b)
{
	int err = 0;

	b->resolution_ns = b->resolution_ns ? 2 * b->resolution_ns : BANDS_RESOLUTION_NS;
	for (uint32_t i = 0; i < b->nr_tracks && !err; i++)
		err = track_coarsen(b, &b->track[i]);
	return err;
}

/* ---- flows ---- */

static uint64_t flow_length(const struct band_flow *f)
{
	uint64_t since = UINT64_MAX, until = 0;

	for (unsigned int i = 0; i < f->nr; i++) {
		since = f->at[i].start_ns < since ? f->at[i].start_ns : since;
		until = f->at[i].end_ns > until ? f->at[i].end_ns : until;
	}
	return until - since;
}

static void flows_drop_short(struct bands *b)
{
	struct band_flow *f;

	for (uint32_t at = 0; (f = hash_next(&b->flows, &at));) {
		if (flow_length(f) >= b->flow_resolution_ns)
			continue;
		b->flows_dropped++;
		at = hash_remove(&b->flows, f);
	}
}

/* Halves the table at least: the resolution doubles only if it must. */
static void flows_coarsen(struct bands *b)
{
	flows_drop_short(b);
	while (b->flows.nr > BANDS_FLOWS_MAX / 2) {
		b->flow_resolution_ns = b->flow_resolution_ns ? 2 * b->flow_resolution_ns
							      : BANDS_RESOLUTION_NS;
		flows_drop_short(b);
	}
}

static void flow_add(struct bands *b, uint64_t id, uint32_t track, const struct timeline_slice *s)
{
	struct band_flow *f;

	if (b->flows.nr == BANDS_FLOWS_MAX && !hash_find_u64(&b->flows, id))
		flows_coarsen(b);
	f = hash_add_u64(&b->flows, id, NULL);
	if (!f || f->nr == TIMELINE_FLOWS)
		return;
	f->at[f->nr].track = track;
	f->at[f->nr].start_ns = s->start_ns;
	f->at[f->nr].end_ns = s->end_ns;
	f->nr++;
}

static void flow_sort(struct band_flow *f)
{
	for (unsigned int i = 1; i < f->nr; i++)
		for (unsigned int j = i; j && f->at[j].start_ns < f->at[j - 1].start_ns; j--) {
			__typeof__(f->at[0]) swap = f->at[j];

			f->at[j] = f->at[j - 1];
			f->at[j - 1] = swap;
		}
}

/* ---- public ---- */

/* NULL: there are too many. */
static struct band_track *band_track_get(struct bands *b, uint32_t track)
{
	uint32_t *index = &b->index[track];

	if (!*index && b->nr_tracks == BANDS_TRACKS_MAX)
		return NULL;
	if (!*index) {
		b->track[b->nr_tracks++] = (struct band_track){.track = track};
		*index = b->nr_tracks;
	}
	return &b->track[*index - 1];
}

int bands_add_item(struct bands *b, uint32_t track, const struct band_item *item)
{
	struct band_track *t = band_track_get(b, track);
	struct band_item column = *item;
	int err;

	if (!t) {
		b->not_kept += item->count;
		return 0;
	}
	if (item->is_band)
		column.start_ns -= b->resolution_ns ? column.start_ns % b->resolution_ns : 0;
	err = item->is_band ? band_add(b, t, &column) : item_add(b, t, item);
	while (!err && b->nr_items >= b->items_max)
		err = coarsen(b);
	return err;
}

int bands_add(struct bands *b, const struct timeline_slice *s)
{
	struct band_item item = {.start_ns = s->start_ns,
				 .ns = s->end_ns - s->start_ns,
				 .longest_ns = s->end_ns - s->start_ns,
				 .count = 1,
				 .kind = s->kind};
	struct band_track *t = band_track_get(b, s->track);

	b->nr_slices++;
	b->since_ns = s->start_ns < b->since_ns ? s->start_ns : b->since_ns;
	b->until_ns = s->end_ns > b->until_ns ? s->end_ns : b->until_ns;
	snprintf(item.name, sizeof(item.name), "%s", s->name);
	for (unsigned int i = 0; t && i < s->nr_flows; i++)
		flow_add(b, s->flow[i], (uint32_t)(t - b->track), s);
	return bands_add_item(b, s->track, &item);
}

void bands_end(struct bands *b)
{
	struct band_flow *f;

	for (uint32_t i = 0; i < b->nr_tracks; i++)
		qsort(b->track[i].item, b->track[i].nr, sizeof(*b->track[i].item), item_compare);
	for (uint32_t at = 0; (f = hash_next(&b->flows, &at));)
		flow_sort(f);
}

struct bands *bands_new(void)
{
	struct bands *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->since_ns = UINT64_MAX;
	b->items_max = BANDS_ITEMS_MAX;
	b->flows = HASH_TABLE(struct band_flow, 1, BANDS_FLOWS_MAX);
	return b;
}

void bands_free(struct bands *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->nr_tracks; i++)
		free(b->track[i].item);
	hash_deinit(&b->flows);
	free(b);
}
