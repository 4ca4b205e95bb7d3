/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host TSC and CLOCK_MONOTONIC read at once. */
#ifndef HOSTRACE_CALIB_H
#define HOSTRACE_CALIB_H

#include "record.h"

/* Fills the record: its time and its TSC belong together within `bracket` TSC ticks. */
void clock_pair_take(struct rec_clock_pair *rec);

#endif
