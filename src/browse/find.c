// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The next item that has a text. The index knows which columns have some; of such a column the events are read, as an
 * item of it may begin before the search does.
 */
#include <strings.h>

#include "base/error.h"
#include "browse/find.h"

struct column_search {
	const struct browse *b;
	const struct browse_search *s;
	uint64_t since_ns, until_ns;
	struct browse_found found;
};

static bool search_matches(const struct browse_search *s, uint32_t track, enum slice_kind kind,
			   const char *name)
{
	return (s->track == UINT64_MAX || s->track == track) &&
	       (strcasestr(name, s->text) || strcasestr(slice_kind_name(kind), s->text));
}

/* ---- the index ---- */

static uint64_t band_end(const struct browse *b, const struct band_item *band)
{
	uint64_t end_ns = band->start_ns + b->bands->resolution_ns;

	return end_ns < b->end_ns ? end_ns : b->end_ns;
}

static bool item_is_next(const struct browse *b, const struct band_item *item, uint64_t from_ns)
{
	if (item->is_band)
		return item->count && band_end(b, item) > from_ns;
	return item->start_ns >= from_ns;
}

/* Of the index's bands, or of its slices. */
static struct browse_found index_find(const struct browse *b, const struct browse_search *s,
				      uint64_t from_ns, bool bands)
{
	struct browse_found found = {0};

	for (uint32_t i = 0; i < b->bands->nr_tracks; i++) {
		const struct band_track *t = &b->bands->track[i];

		for (uint32_t k = 0; k < t->nr; k++) {
			const struct band_item *item = &t->item[k];

			if (found.is_found && item->start_ns >= found.item.start_ns)
				break;
			if (item->is_band == bands && item_is_next(b, item, from_ns) &&
			    search_matches(s, t->track, item->kind, item->name))
				found = (struct browse_found){true, t->track, *item};
		}
	}
	return found;
}

/* ---- a column of it ---- */

static int column_slice(void *arg, uint32_t track, const struct timeline_slice *slice)
{
	struct column_search *c = arg;
	struct browse_found *f = &c->found;

	if (track == UINT32_MAX || !c->b->bands->index[track] || slice->start_ns < c->since_ns ||
	    slice->start_ns >= c->until_ns ||
	    (f->is_found && slice->start_ns >= f->item.start_ns) ||
	    !search_matches(c->s, track, slice->kind, slice->name))
		return 0;
	*f = (struct browse_found){.is_found = true,
				   .track = track,
				   .item = {.start_ns = slice->start_ns,
					    .ns = slice->end_ns - slice->start_ns,
					    .longest_ns = slice->end_ns - slice->start_ns,
					    .count = 1,
					    .kind = slice->kind}};
	snprintf(f->item.name, sizeof(f->item.name), "%s", slice->name);
	return 0;
}

int browse_find(struct browse *b, const struct browse_search *s, struct browse_found *ret)
{
	uint64_t from_ns = s->from_ns;
	struct browse_found slice = index_find(b, s, from_ns, false), band;
	int err = 0;

	while (band = index_find(b, s, from_ns, true), band.is_found) {
		uint64_t begin_ns = band.item.start_ns > from_ns ? band.item.start_ns : from_ns;
		struct column_search c = {
			.b = b, .s = s, .since_ns = begin_ns, .until_ns = band_end(b, &band.item)};

		if (slice.is_found && slice.item.start_ns < c.until_ns)
			c.until_ns = slice.item.start_ns;
		if (c.until_ns > begin_ns)
			err = browse_read(b, begin_ns, c.until_ns, column_slice, &c);
		if (c.found.is_found || err) {
			*ret = c.found;
			return err;
		}
		if (slice.is_found && slice.item.start_ns <= c.until_ns)
			break;
		if (band.item.start_ns >= from_ns) { /* its events are not those that it was made of */
			*ret = band;
			return 0;
		}
		from_ns = c.until_ns;
	}
	*ret = slice;
	return 0;
}
