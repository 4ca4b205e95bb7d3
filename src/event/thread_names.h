/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of each thread, and the vCPU that it runs, from the events read so far (thread, sched_*, task_*, any event
 * with a vCPU) and from the metadata.
 *
 * A name holds from the event that shows it. A name in the metadata has no time: it is the last one that a thread had,
 * or one of the last. It is used where no event shows that the thread had another name then, which takes a look at all
 * events first (thread_names_look()).
 */
#ifndef HOSTRACE_THREAD_NAMES_H
#define HOSTRACE_THREAD_NAMES_H

#include <jansson.h>

#include "base/cleanup.h"
#include "event/event.h"

enum { NAMED_THREADS_MAX = 1 << 16 }; /* further threads have no name */

struct thread_names;

struct thread_names *thread_names_new(void);
void thread_names_free(struct thread_names *names);
DEFINE_CLEANUP(thread_names, struct thread_names *, thread_names_free);
#define _cleanup_thread_names_ _cleanup_(thread_names_cleanup_)

/* Learns vms[].vcpus[] and threads{"TID": "COMM"} of an input's metadata. */
void thread_names_meta(struct thread_names *names, unsigned int source, const json_t *meta);

/* Does an event of this name name threads? (For struct read_hint; arg is not used.) */
bool thread_names_wants(const char *event, void *arg);

/*
 * To be called for all events of an input in order, before the first thread_names_event(), which otherwise does it:
 * then a name in the metadata is not used for a time before the thread had another one.
 */
void thread_names_look(struct thread_names *names, const struct event *ev);

/* thread_names_look() has been called for all events of this input. */
void thread_names_looked(struct thread_names *names, unsigned int source);

void thread_names_event(struct thread_names *names, const struct event *ev);

/* "" if it is unknown. The text is sanitized, and valid until the next event. */
const char *thread_comm(const struct thread_names *names, const struct event *ev);

/* The event's own vCPU, else the one its thread runs, else RECORD_NO_VCPU. */
uint16_t thread_vcpu(const struct thread_names *names, const struct event *ev);

/* How often a name or vCPU was dropped because there were NAMED_THREADS_MAX threads already. */
uint64_t thread_names_refused(const struct thread_names *names);

#endif
