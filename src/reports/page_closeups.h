/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The timeline around the slowest exits, for `hostrace report`: all from one pass. */
#ifndef HOSTRACE_REPORTS_PAGE_CLOSEUPS_H
#define HOSTRACE_REPORTS_PAGE_CLOSEUPS_H

#include "reports/result.h"

struct page_closeups_query {
	/*
	 * The answer of `blame`, whose first rows are the slowest exits, borrowed; NULL: there is none. 1: not done
	 * yet.
	 */
	int (*slowest)(void *arg, const json_t **ret);
	void *arg;
};
extern const struct report_ops page_closeups_report;

/*
 * {"rows": [{"since_ns", "until_ns", "exit_ns", "latency_ns", "reason", "vcpu", "tracks": [{"group", "name"}],
 * "slices": [[track, start_ns, duration_ns, kind, name]...], "slices_not_shown"}...]}; NULL if there is no exit.
 */
int page_closeups_tree(struct result *r, json_t **ret);

#endif
