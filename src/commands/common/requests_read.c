// SPDX-License-Identifier: GPL-2.0-or-later
#include <math.h>

#include "base/saturate.h"
#include "clock/align.h"
#include "commands/common/requests_read.h"

struct pass {
	struct requests *requests;
	const struct input_set *in;
};

static int pass_event(void *arg, const struct event *ev)
{
	const struct pass *p = arg;

	requests_event(p->requests, ev, input_set_is_guest(p->in, ev->source));
	return 0;
}

/* The largest error of all guests' clocks. */
static uint64_t clock_error_ns(const struct input_set *in)
{
	double worst = 0;

	for (unsigned int i = 0; i < in->nr_guests; i++) {
		const struct align_guest *g;
		struct align *a;

		if (!input_set_align(in, (int)i, &a, &g))
			worst = fmax(worst, g->error_ns);
	}
	return uint64_of_double(ceil(worst));
}

int requests_read(struct requests *q, struct input_set *in, const struct request **ret,
		  size_t *ret_nr, struct request_totals *ret_totals)
{
	struct pass p = {.requests = q, .in = in};
	int err = input_set_open_window(in, true, requests_wants, NULL);

	if (!err)
		requests_window(q, in->since_ns, in->until_ns);
	if (!err)
		err = reader_each(in->reader, pass_event, &p);
	return err ? err : requests_end(q, clock_error_ns(in), ret, ret_nr, ret_totals);
}
