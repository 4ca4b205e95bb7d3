/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_FASTLANE_PLAN_H
#define HOSTRACE_FASTLANE_PLAN_H

#include "pairing/fast_internal.h"

/* Fills a zeroed plan. False: the long way must be gone; debugging output says why. */
bool lane_plan_make(struct lane_plan *plan, struct reader *r, struct pairing *p, unsigned int jobs);
void lane_plan_free(struct lane_plan *plan);

#endif
