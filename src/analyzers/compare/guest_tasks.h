/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When each task of a guest had a CPU, from the guest's own sched_switch events: by the task's name, without idle. */
#ifndef HOSTRACE_GUEST_TASKS_H
#define HOSTRACE_GUEST_TASKS_H

#include "base/cleanup.h"
#include "event/event.h"

enum { GUEST_TASK_CPUS_MAX = 4096 }; /* of all guests; further ones are ignored */

struct guest_tasks;

/* Receives each time that a task had a CPU without interruption. 0 or -errno. */
typedef int guest_task_fn(void *arg, const char *comm, uint64_t end_ns, uint64_t ns);

/* NULL with the error message set: out of memory. */
struct guest_tasks *guest_tasks_new(guest_task_fn *fn, void *arg);
void guest_tasks_free(struct guest_tasks *t);
DEFINE_CLEANUP(guest_tasks, struct guest_tasks *, guest_tasks_free);

/* As struct read_hint has it. */
bool guest_tasks_wants(const char *event, void *arg);

/* All events in order of time; those that are not a guest's are ignored. 0, or what the function returned. */
int guest_tasks_event(struct guest_tasks *t, const struct event *ev);

#endif
