// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "input/input_events.h"
#include "tracefile/tracefile.h"

int input_events_open(const struct input_set *set, struct input_events *ret)
{
	*ret = (struct input_events){.set = set,
				     .names = thread_names_new(),
				     .batch = calloc(1, sizeof(*ret->batch)),
				     .more = 1};
	if (!ret->names || !ret->batch)
		return fail(-ENOMEM, "out of memory");
	return input_set_thread_names(set, ret->names);
}

void input_events_close(struct input_events *events)
{
	thread_names_free(events->names);
	free(events->batch);
	*events = (struct input_events){0};
}

static bool is_shown(const struct input_set *set, const struct event *ev)
{
	return ev->time_ns >= set->since_ns && ev->time_ns < set->until_ns &&
	       input_set_selects(set, ev);
}

int input_events_next(struct input_events *events, const struct event **ret)
{
	struct batch *batch = events->batch;

	*ret = NULL;
	while (events->more > 0) {
		while (events->at < batch->nr) {
			const struct event *ev = &batch->ev[events->at++];

			events->lost += lost_record_count(ev);
			thread_names_event(events->names, ev);
			if (is_shown(events->set, ev)) {
				*ret = ev;
				return 1;
			}
		}
		events->more = reader_next(events->set->reader, batch);
		events->at = 0;
	}
	return events->more;
}
