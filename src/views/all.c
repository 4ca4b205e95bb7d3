// SPDX-License-Identifier: GPL-2.0-or-later
/* Every view. A new one: its file here beside, and its two lines. */
#include <stddef.h>

#include "view.h"

extern const struct view summary_view, count_view, histogram_view, heatmap_view, list_spans_view;
extern const struct view timeline_view;

const struct view *const views[] = {
	&summary_view, &count_view, &histogram_view, &heatmap_view, &list_spans_view,
	&timeline_view, NULL,
};
