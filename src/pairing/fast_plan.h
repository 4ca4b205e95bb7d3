/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_FAST_PLAN_H
#define HOSTRACE_FAST_PLAN_H

#include "pairing/fast_internal.h"

/* Fills a zeroed plan. False: the slow path must be used; debug output gives the reason. */
bool fast_plan_make(struct fast_plan *plan, struct reader *r, struct pairing *p,
		    const struct span_fold *fold, const struct pairing_options *opt);
void fast_plan_free(struct fast_plan *plan);

#endif
