/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_FAST_PLAN_H
#define HOSTRACE_FAST_PLAN_H

#include "pairing/fast_internal.h"

/* Fills a zeroed plan. False: the slow path must be taken; debug output says why. */
bool fast_plan_make(struct fast_plan *plan, struct reader *r, struct pairing *p, unsigned int jobs);
void fast_plan_free(struct fast_plan *plan);

#endif
