/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The slices of any recording in bounded memory. Each slice is kept as it is until there are BANDS_ITEMS_MAX items.
 * Then the resolution doubles: a slice shorter than it becomes part of a band, which is the sum of what one kind of
 * slices has in one column of time; longer slices, which are what one looks for in a long recording, are kept. So a
 * short recording has slices alone, a long one has bands and its longest slices, and times of each kind add up to the
 * same in both.
 *
 * An arrow is kept while it is as long as the arrows' own resolution, which doubles likewise.
 */
#ifndef HOSTRACE_TIMELINE_BANDS_H
#define HOSTRACE_TIMELINE_BANDS_H

#include "analyzers/timeline/timeline.h"
#include "base/hash.h"

enum {
	BANDS_ITEMS_MAX = 8192, /* unless items_max is another one */
	BANDS_TRACKS_MAX = 400,	   /* the first ones; slices of further tracks are counted */
	BANDS_FLOWS_MAX = 1024,
	BANDS_RESOLUTION_NS = 1000, /* the first one */
};

struct band_item {
	uint64_t start_ns; /* of the slice; of the band's column, a multiple of the resolution */
	uint64_t ns;	   /* of the slice; within the column */
	uint64_t count;	   /* slices that begin in it; 0: the end of one that began before */
	uint64_t longest_ns;
	enum slice_kind kind;
	bool is_band;
	char name[TIMELINE_NAME_BYTES]; /* of the longest */
};

struct band_track {
	uint32_t track; /* of the timeline */
	struct band_item *item;
	uint32_t nr;
};

/* A flow passes through slices in order of time. */
struct band_flow {
	uint64_t id;
	unsigned int nr;
	struct {
		uint32_t track;
		uint64_t start_ns, end_ns;
	} at[TIMELINE_FLOWS];
};

struct bands {
	struct band_track track[BANDS_TRACKS_MAX];
	uint32_t nr_tracks, nr_items, items_max;
	bool exit_names; /* exits of different names do not share a band */
	uint32_t index[TIMELINE_TRACKS_MAX]; /* of a timeline's track: 1 + its index here; 0: not yet */
	uint64_t resolution_ns;		     /* 0: all items are slices */
	uint64_t since_ns, until_ns;	     /* of all slices */
	uint64_t nr_slices, not_kept;	     /* not_kept: of further tracks */
	struct hash_table flows;
	uint64_t flow_resolution_ns, flows_dropped;
};

/* NULL: out of memory. */
struct bands *bands_new(void);
void bands_free(struct bands *b);

/* 0, or -ENOMEM with the error message set. */
int bands_add(struct bands *b, const struct timeline_slice *s);

/*
 * Adds an item of another one, whose resolution divides this one's; arrows are not copied. 0, or -ENOMEM with the error
 * message set.
 */
int bands_add_item(struct bands *b, uint32_t track, const struct band_item *item);

/* After the last slice: items and flows' points are in order of time. */
void bands_end(struct bands *b);

#endif
