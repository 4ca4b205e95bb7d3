// SPDX-License-Identifier: GPL-2.0-or-later
/* Opens, feeds and ends that pass, with the bound that the inputs' clocks have. */
#include "reports/requests_read.h"

#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "base/saturate.h"
#include "clock/align.h"

int requests_pass_open(struct requests_pass *p, const struct input_set *in)
{
	*p = (struct requests_pass){.requests = requests_new(), .in = in};
	if (!p->requests)
		return fail(-ENOMEM, "out of memory");
	requests_window(p->requests, in->since_ns, in->until_ns);
	return 0;
}

void requests_pass_event(struct requests_pass *p, const struct event *ev)
{
	requests_event(p->requests, ev, input_set_is_guest(p->in, ev->source));
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

int requests_pass_end(struct requests_pass *p)
{
	return requests_end(p->requests, clock_error_ns(p->in), &p->list, &p->nr, &p->totals);
}

void requests_pass_close(struct requests_pass *p)
{
	requests_free(p->requests);
	*p = (struct requests_pass){0};
}
