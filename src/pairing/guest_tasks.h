/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The key "guest-task": the task of a Linux guest that an exit is of, as the newest guest_task of the thread has it. */
#ifndef HOSTRACE_GUEST_TASKS_H
#define HOSTRACE_GUEST_TASKS_H

#include "base/hash.h"
#include "event/event.h"

enum {
	GUEST_TASKS_MAX = 1 << 17,   /* different ones; further ones are unknown */
	GUEST_THREADS_MAX = 1 << 16, /* vCPU threads */
	GUEST_TASK_TEXT = 16,
};

struct guest_task_name {
	char comm[GUEST_TASK_TEXT];
	int32_t tid;
};

/* guest_tasks_init() first. */
struct guest_tasks {
	struct hash_table now; /* by thread: the label of its guest's task */
	struct hash_table labels; /* by id and name */
	struct guest_task_name *name; /* by label - 1 */
	size_t nr;
};

void guest_tasks_init(struct guest_tasks *t);
void guest_tasks_deinit(struct guest_tasks *t);

/* Does a guest_task precede events of this type where the task has changed? */
bool guest_tasks_know(const struct event_type *type);

/* A guest_task event. */
void guest_tasks_learn(struct guest_tasks *t, const struct event *ev);

/* Of the thread's guest; 0: unknown. */
uint64_t guest_tasks_label(const struct guest_tasks *t, const struct event *ev);

/* "COMM-TID", as ftrace prints tasks; in buf. */
const char *guest_tasks_name(const struct guest_tasks *t, uint64_t label, char *buf, size_t size);

/* The error message of a trace without any: -ENODATA. */
int guest_tasks_missing(void);

#endif
