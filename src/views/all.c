// SPDX-License-Identifier: GPL-2.0-or-later
/* Every view. To add one, add its file to this folder and a line here. */

#include "views/view.h"

/* clang-format off */
#define VIEWS(VIEW) \
	VIEW(summary) \
	VIEW(count) \
	VIEW(histogram) \
	VIEW(heatmap) \
	VIEW(list_spans) \
	VIEW(timeline)
/* clang-format on */

#define DECLARE(name) extern const struct view name##_view;
VIEWS(DECLARE)

#define LIST(name) &name##_view,
const struct view *const views[] = {VIEWS(LIST) NULL};
