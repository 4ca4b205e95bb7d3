/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --where on events. A field of the condition is a column that all events have (event, time_ns, cpu, vcpu, pid, tid,
 * vm), else the event's own field of this name; "fields.NAME" is always the event's own. It is bound once for each
 * event type.
 */
#ifndef HOSTRACE_EVENT_WHERE_H
#define HOSTRACE_EVENT_WHERE_H

#include "base/condition.h"
#include "event/event.h"

struct event_where;
struct vm_names;

/* Parses the condition. NULL with the error message set. */
struct event_where *event_where_new(const char *option, const char *text);
void event_where_free(struct event_where *w);
DEFINE_CLEANUP(event_where, struct event_where *, event_where_free);

/* Names for "vm", which must live as long; NULL: none are known. */
void event_where_set_vms(struct event_where *w, const struct vm_names *vms);

/* False as well if a field's value is unknown or memory is short. */
bool event_where_matches(struct event_where *w, const struct event *ev);

/* Binds a type, if it was not met before. True: each field of the condition is now known to be one of an event. */
bool event_where_learn(struct event_where *w, const struct event_type *type);

/* 0; -EINVAL with the error message set, which lists the fields: types were learned, and none of them has a field. */
int event_where_check(const struct event_where *w);

/*
 * For other records than events: the text of a reason, which is known by the names of other ISAs as well, in either
 * case, as for --reason.
 */
void condition_value_reason(struct condition_value *v, const char *text);

#endif
