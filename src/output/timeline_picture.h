/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files that draw a timeline as SVG: where its rows are, and what is on them. */
#ifndef HOSTRACE_TIMELINE_PICTURE_H
#define HOSTRACE_TIMELINE_PICTURE_H

#include <stdio.h>

#include "analyzers/timeline/bands.h"

enum {
	PICTURE_LEFT = 190,
	PICTURE_WIDTH = 1400,
	PICTURE_PLOT = PICTURE_WIDTH - PICTURE_LEFT - 24,
	PICTURE_TOP = 92,
	PICTURE_ROW = 18,
	PICTURE_BAR = 14,
	PICTURE_GROUP_ROW = 26,
};

struct timeline_picture {
	struct bands *bands;
	uint32_t row[BANDS_TRACKS_MAX]; /* row -> index in bands */
	uint32_t y[BANDS_TRACKS_MAX];	/* index in bands -> y */
	uint32_t nr_rows, height;
	uint64_t since_ns, until_ns;
};

extern const char *const timeline_titles[SLICE_KINDS]; /* in the legend */
const char *timeline_fill(enum slice_kind kind);

/* The rows as they are without a script: time of each kind by pixel, names of wide slices, arrows if they are few. */
void timeline_picture_plot(const struct timeline_picture *p, FILE *f);

/* What the script draws from: <metadata> with JSON. */
void timeline_picture_data(const struct timeline *t, const struct timeline_picture *p, FILE *f);

#endif
