// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "clock/align.h"
#include "commands/common/reading.h"
#include "commands/common/requests_read.h"

static int take(void *requests, const struct event *ev)
{
	requests_event(requests, ev, reading_is_guest(ev->source));
	return 0;
}

/* The worst of all guests' clocks. */
static uint64_t clock_error_ns(void)
{
	double worst = 0;

	for (unsigned int i = 0; i < reading_guests(); i++) {
		const struct align_guest *g;
		struct align *a;

		if (!reading_align((int)i, &a, &g))
			worst = fmax(worst, g->error_ns);
	}
	return (uint64_t)ceil(worst);
}

int requests_read(struct requests *q, struct reader **ret_reader, const struct request **ret,
		  size_t *ret_nr, struct request_totals *ret_totals)
{
	int err = reading_open(requests_wants, NULL, ret_reader);

	if (!err)
		err = reader_each(*ret_reader, take, q);
	return err ? err : requests_end(q, clock_error_ns(), ret, ret_nr, ret_totals);
}
