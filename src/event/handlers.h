/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an analyzer does with each of our events: a table by event, of functions (analyzer, event). From this one
 * declaration follows which events the analyzer wants from a reader, which losses concern it, and which events
 * `record --for` records for its report.
 *
 *	static const HANDLERS(struct downtime) handlers = {{[EV_kvm_exit] = on_exit, [EV_lost] = on_lost}};
 */
#ifndef HOSTRACE_HANDLERS_H
#define HOSTRACE_HANDLERS_H

#include "event/event.h"

#define HANDLERS(analyzer)                                                                         \
	struct {                                                                                   \
		void (*on[EV_LIMIT])(analyzer * to, const struct event *ev);                       \
	}

/* The same for an analyzer that finds something first, as the event's thread: functions (analyzer, it, event). */
#define HANDLERS_OF(analyzer, subject)                                                             \
	struct {                                                                                   \
		void (*on[EV_LIMIT])(analyzer * to, subject * of, const struct event *ev);         \
	}

/* The id of our event of this name; 0, which has no handler: it is not one of ours. */
static inline unsigned int event_id_named(const char *name)
{
	const struct event_type *type = event_type_named(name);

	return type ? type->id : 0;
}

/* Is there a handler? By name, as struct read_hint asks. */
#define handlers_want(handlers, event) ((handlers)->on[event_id_named(event)] != NULL)

#define handlers_have(handlers, ev) ((handlers)->on[(ev)->type->id] != NULL)

/* Calls the event's handler, if there is one. */
#define handlers_call(handlers, analyzer, ev)                                                      \
	do {                                                                                       \
		if ((handlers)->on[(ev)->type->id])                                                \
			(handlers)->on[(ev)->type->id](analyzer, ev);                              \
	} while (0)

#endif
