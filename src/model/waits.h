/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model's own: who runs on a CPU while threads wait for it. Nothing of it happens without a reader's `taken`. */
#ifndef HOSTRACE_MODEL_WAITS_H
#define HOSTRACE_MODEL_WAITS_H

#include "model/threads.h"

void waits_init(struct model *m);
void waits_deinit(struct model *m);

/* The event switches its CPU from one task to another: before that changes what threads do. */
void cpu_switches(struct model *m, const struct event *ev);

/* The thread waits from then on; by a switch, for the event's CPU. */
void wait_begins(struct model *m, struct model_thread *t, uint64_t ns, const struct event *ev);

/* It is known now which CPU it waits for. */
void wait_finds_cpu(struct model *m, struct model_thread *t, const struct event *ev, uint32_t cpu);

/* A period of the thread ends, by this event; NULL: the trace ends. */
void wait_ends(struct model *m, struct model_thread *t, uint64_t ns, const struct event *ev);

/* A sched_switch, or a sched_ran, which has the same fields but for the state. Returns copy or the record itself. */
const struct rec_sched_switch *switch_read(const struct event *ev, struct rec_sched_switch *copy);

#endif
