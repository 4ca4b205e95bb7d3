/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_CLOCK_PROTOCOLS_H
#define HOSTRACE_CLOCK_PROTOCOLS_H

#include "clock/clock.h"

/* The `make` of the fitted protocol (fit.c); the short ones are in clock.c. */
int clock_fit(const struct clock_input *in, unsigned int nr, const struct clock_options *opt,
	      struct clock_relation *ret);

/* Index of the last span with enter <= host; in->nr_spans if there is none. */
size_t clock_span_before(const struct clock_input *in, uint64_t host);

/* Ticks from the nearest span; 0 inside of one; -1 outside of the time that was recorded. */
int64_t clock_distance(const struct clock_input *in, uint64_t host);

/* How far a host time is from the validity of segment i, and from being after the previous timestamp. */
uint64_t clock_implausible(const struct clock_vcpu *v, size_t i, uint64_t host, uint64_t last);

/*
 * Decides by guest mode which timestamps belong to which segment, and sets v->segment[].until and v->uncertain;
 * requires v->error_ticks. 0, -ENOMEM or -E2BIG.
 */
int clock_changes_place(struct clock_vcpu *v, const struct clock_input *in, uint64_t *work);

/* ln of the probability that a wrong relation, one of rel->tries, passes clock_check(). 0, -ENOMEM or -E2BIG. */
int clock_chance(const struct clock_relation *rel, const struct clock_input *in, unsigned int nr,
		 uint64_t *work, double *ret);

#endif
