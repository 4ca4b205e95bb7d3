// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "event/losses.h"
#include "event/records.h"
#include "pairing/loss_state.h"

void loss_state_deinit(struct loss_state *l)
{
	free(l->gap_ns);
}

const struct event_type *loss_event_type(const struct event *ev)
{
	RECORD(lost, lost, ev);

	return event_type_ours(lost->lost_event);
}

void loss_state_add(struct loss_state *l, const struct event *ev)
{
	uint64_t until_ns = loss_until_ns(ev);

	l->nr++;
	if (until_ns > l->blind_until_ns)
		l->blind_until_ns = until_ns;
}

int loss_state_add_gap(struct loss_state *l, const struct event *ev)
{
	RECORD(gap, gap, ev);

	if (!l->gap_ns)
		l->gap_ns = calloc(UINT16_MAX + 1u, sizeof(*l->gap_ns));
	if (!l->gap_ns)
		return fail(-ENOMEM, "out of memory");
	if (gap->gap_cpu <= UINT16_MAX)
		l->gap_ns[gap->gap_cpu] = gap->until;
	if (gap->until > l->newest_gap_ns)
		l->newest_gap_ns = gap->until;
	return 0;
}
