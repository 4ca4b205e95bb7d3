/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles of guest and host code of a recording with samples that is being written (profile --live): one for each
 * interval of its time, each as `profile --host` makes it of these events.
 */
#ifndef HOSTRACE_REPORTS_HOST_LIVE_H
#define HOSTRACE_REPORTS_HOST_LIVE_H

#include "analyzers/profile/host_profile.h"
#include "input/input_set.h"

struct host_live_page {
	uint64_t start_ns, end_ns; /* of the interval; the last one ends with the recording */
	const struct host_profile_totals *totals;
	const struct calltree *tree;
	uint64_t lost; /* events, as far as the recording says so in the interval */
};

struct host_live_query {
	struct host_profile_options options; /* but what to profile, times, maps and names of VMs */
	uint64_t interval_ns, count;	     /* pages; 0: until the recording ends */

	int (*page)(void *arg, const struct host_live_page *page); /* other than 0 ends it */
	void *arg;
};

/*
 * Opens the set, with options->follow, and reads it to its end. An interval without samples has no page. 0, what page()
 * returned, or -errno with the error message set.
 */
int host_live_run(const struct host_live_query *q, struct input_set *in);

#endif
