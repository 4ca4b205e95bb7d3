// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A reading of the clock is put between two readings of the TSC; their distance bounds the error.
 * Of several tries the tightest is kept: an interrupt in between makes a try useless, not wrong.
 * Pairs are measured throughout a recording because NTP slews CLOCK_MONOTONIC.
 */
#include <string.h>
#include <x86intrin.h>

#include "base/clock.h"
#include "collector/internal.h"

enum { TRIES = 8 };

static uint64_t tsc_read(void)
{
	unsigned int aux;
	uint64_t tsc = __rdtscp(&aux); /* waits for what is before it */

	_mm_lfence(); /* also delays later instructions */
	return tsc;
}

void clock_pair_take(struct rec_clock_pair *rec)
{
	uint64_t best = UINT64_MAX;

	memset(rec, 0, sizeof(*rec));
	for (int i = 0; i < TRIES; i++) {
		uint64_t before = tsc_read();
		uint64_t now = monotonic_ns();
		uint64_t bracket = tsc_read() - before;

		if (bracket >= best)
			continue;
		best = bracket;
		rec->hdr.time = now;
		rec->tsc = before + bracket / 2;
		rec->bracket = bracket > UINT32_MAX ? UINT32_MAX : (uint32_t)bracket;
	}
	rec->hdr.type = EV_clock_pair;
	rec->hdr.size = sizeof(*rec);
	rec->hdr.vcpu = RECORD_NO_VCPU;
}
