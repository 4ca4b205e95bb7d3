/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_CLOCK_PROTOCOLS_H
#define HOSTRACE_CLOCK_PROTOCOLS_H

#include "clock/clock.h"

/* The `make` of the fitted protocol (fit.c); the short ones are in clock.c. */
int clock_fit(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
	      struct clock_relation *ret);

#endif
