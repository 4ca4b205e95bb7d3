// SPDX-License-Identifier: GPL-2.0-or-later
/* The reports of a window, as their commands without options make them. */
#include "browse/answers.h"

extern const struct view summary_view, count_view;

enum { EXITS_LISTED = 10 }; /* as `hostrace blame -f json` has them */

#define SPANS(which, name)                                                                         \
	&spans_report, &(const struct spans_query)                                                 \
	{                                                                                          \
		.view = &which##_view, .analyzer = name                                            \
	}

static const struct browse_report_def defs[] = {
	{"exits", SPANS(summary, "exit-latency")},
	{"ports", SPANS(count, "pio")},
	{"mmio", SPANS(count, "mmio")},
	{"msrs", SPANS(count, "msr")},
	{"blame", &blame_report,
	 &(const struct blame_query){.keep = EXITS_LISTED, .around_json = true}},
	{"sched", &sched_report, &(const struct sched_query){0}},
	{"virtio", &virtio_report, NULL},
	{"requests", &requests_report, NULL},
	{"interrupts", &interrupts_report, &(const struct interrupts_query){0}},
	{"downtime", &downtime_report, NULL},
	{"leaks", &leaks_report, &(const struct leaks_query){.min_age_ns = LEAKS_MIN_AGE_NS}},
	{"info", &info_report, &(const struct info_query){0}},
};

const struct browse_report_def *browse_report_find(const char *name)
{
	for (size_t i = 0; i < sizeof(defs) / sizeof(*defs); i++)
		if (!strcmp(defs[i].name, name))
			return &defs[i];
	return NULL;
}
