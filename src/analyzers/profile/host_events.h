/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events that have the guest's instruction pointer, for host_profile*.c and host_events.c only. */
#ifndef HOSTRACE_HOST_EVENTS_H
#define HOSTRACE_HOST_EVENTS_H

#include "analyzers/profile/host_profile.h"

enum { WHERE_GUEST, WHERE_KERNEL };
enum { HOST_FRAMES_MAX = 28 }; /* of the kernel, and of user space, in one host_stack */

/* 0: it has none, or it is unknown. */
uint64_t host_event_rip(const struct event *ev);

/* Of a guest_sample or guest_stack: WHERE_* */
uint32_t host_event_where(const struct event *ev);

/* Of a kvm_exit. */
bool host_event_is_interrupt(const struct event *ev);

/* Is it counted by host_profile_count()? */
bool host_profile_counts(const char *event);

static inline bool host_profile_has(const struct host_profile_options *opt, const struct event *ev)
{
	return ev->time_ns >= opt->since_ns && ev->time_ns < opt->until_ns;
}

#endif
