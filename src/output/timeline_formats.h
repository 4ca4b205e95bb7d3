/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How each format writes a timeline; one of each is in its struct format. */
#ifndef HOSTRACE_TIMELINE_FORMATS_H
#define HOSTRACE_TIMELINE_FORMATS_H

#include "analyzers/timeline/timeline.h"

extern const struct timeline_ops text_timeline, json_timeline, csv_timeline, svg_timeline,
	html_timeline;

#endif
