/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `hostrace report`: the results of all reports, from as few passes over the inputs as possible. */
#ifndef HOSTRACE_REPORTS_PAGE_H
#define HOSTRACE_REPORTS_PAGE_H

#include "analyzers/profile/frames.h"
#include "reports/result.h"

struct page_query {
	const struct input_options *input; /* allow_ticks is set */
	struct addresses *symbols;   /* NULL: none */
	struct frames_options frames;	   /* the same for profiles */
	const struct input_set *plain, *merged; /* the inputs, not open: as they are, and with guests' traces */
	const json_t *notes;		   /* of the inputs: what is left out */
	json_t *baseline; /* {"command", "data"} of a `diff` with earlier runs; borrowed; NULL: none */
	bool costs;			   /* only the sections that findings are made of */
};

/*
 * *ret: the page's data (output/report/page.h), with q->costs only its sections, a new reference; *lost: an input lost
 * events. 0 or -errno with the error message set.
 */
int page_make(const struct page_query *q, json_t **ret, bool *lost);

#endif
