// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "pairing/loss_state.h"

void loss_state_deinit(struct loss_state *l)
{
	free(l->gap_ns);
}

const struct event_type *loss_event_type(const struct event *ev)
{
	return event_type_ours((unsigned int)event_value(ev, "lost_event"));
}

void loss_state_add(struct loss_state *l, const struct event *ev)
{
	uint64_t until_ns = event_value(ev, "until");

	l->nr++;
	if (until_ns > l->blind_until_ns)
		l->blind_until_ns = until_ns;
}

int loss_state_add_gap(struct loss_state *l, const struct event *ev)
{
	uint64_t cpu = event_value(ev, "gap_cpu"), until_ns = event_value(ev, "until");

	if (!l->gap_ns)
		l->gap_ns = calloc(UINT16_MAX + 1u, sizeof(*l->gap_ns));
	if (!l->gap_ns)
		return fail(-ENOMEM, "out of memory");
	if (cpu <= UINT16_MAX)
		l->gap_ns[cpu] = until_ns;
	if (until_ns > l->newest_gap_ns)
		l->newest_gap_ns = until_ns;
	return 0;
}
