// SPDX-License-Identifier: GPL-2.0-or-later
/* Where exits begin and end. */
#include <errno.h>

#include "analyzers/blame/internal.h"
#include "base/error.h"
#include "event/exit_reason.h"

struct cycle *exit_cycle(struct blame *b, struct thread *t)
{
	if (t->cycle)
		return t->cycle;
	if (t->vm->nr_vcpus == VM_VCPU_THREADS_MAX) {
		b->counts.refused++;
		return NULL;
	}
	t->cycle = calloc(1, sizeof(*t->cycle));
	if (t->cycle)
		t->vm->vcpu[t->vm->nr_vcpus++] = t;
	else
		b->err = fail(-ENOMEM, "out of memory");
	return t->cycle;
}

void exit_deliver(struct blame *b, struct thread *t)
{
	struct cycle *c = t->cycle;
	bool is_exit = c && c->done && !c->in_run;

	if (c && c->done && !b->err)
		b->err = parts_deliver(b, t);
	if (is_exit) /* before sleep in KVM_RUN, the access may be the next exit's */
		c->access = (struct blame_who){0};
}

/* The event that ends it, or begins another one, is of the vCPU's thread: it may be another exit's. */
static bool exit_is_lost(const struct blame *b, const struct thread *t)
{
	const struct vcpu_place *p = &t->model.place;

	return !t->cycle->in_run && (b->exits_seen ? p->exit.is_lost : p->vmm.is_lost);
}

struct cycle *exit_begin(struct blame *b, struct thread *t, const struct event *ev)
{
	struct cycle *c = exit_cycle(b, t);

	if (!c)
		return NULL;
	exit_deliver(b, t);
	if (c->open)
		++*(exit_is_lost(b, t) ? &b->counts.lost : &b->counts.unmatched);
	c->open = true;
	c->fault = c->inject = c->nested = c->in_run = c->halt_known = false;
	c->unknown = losses_cover(&b->model.losses, LOST_PARTS, ev->time_ns);
	c->misplaced = losses_cover(&b->model.losses, LOST_PLACES, ev->time_ns);
	c->vcpu = ev->vcpu;
	c->start_ns = c->since_ns = ev->time_ns;
	c->nr = 0;
	c->detailed = BLAME_PARTS_MAX;
	c->sums = BLAME_SUMS_MAX;
	return c;
}

/*
 * Without events of the scheduler or KVM, that a vCPU halted shows in the exit's reason only. One that continues so
 * soon has not slept, as something was pending: its CPU is busy.
 */
static void halt_assume(struct blame *b, struct cycle *c, uint64_t ns)
{
	if (b->counts.switches || c->halt_known || !exit_is_idle(c->reason, c->isa))
		return;
	if (ns - c->start_ns < EXIT_IDLE_MIN_NS) {
		b->counts.busy_halts++;
		return;
	}
	for (unsigned int i = 0; i < c->nr; i++)
		if (c->part[i].cause == BLAME_KERNEL)
			c->part[i].cause = BLAME_HALTED;
	b->counts.halts++;
}

void exit_end(struct blame *b, struct thread *t, uint64_t ns)
{
	struct cycle *c = t->cycle;

	if (!c || !c->open)
		return;
	part_cut(b, t, ns);
	halt_assume(b, c, ns);
	c->open = false;
	c->done = true;
	c->end_ns = ns > c->since_ns ? ns : c->since_ns; /* events may be out of order */
}

void exit_ends(struct blame *b, struct thread *t, const struct event *ev)
{
	if (t->cycle && t->cycle->open && exit_is_lost(b, t))
		b->counts.lost += exit_drop(t);
	else
		exit_end(b, t, ev->time_ns);
}

bool exit_open_is_lost(const struct blame *b, const struct thread *t)
{
	if (!t->cycle || !t->cycle->open || t->cycle->in_run)
		return false;
	return b->exits_seen ? model_exit_lost(&b->model, &t->model)
			     : model_vmm_lost(&b->model, &t->model);
}

void exit_leave_run(struct blame *b, struct thread *t, const struct event *ev)
{
	struct cycle *c = t->cycle;

	if (b->exits_seen || (c && c->open))
		return;
	b->counts.userspace = true;
	if (losses_cover(&b->model.losses, LOST_PLACES, ev->time_ns)) {
		b->counts.lost++;
		return;
	}
	c = exit_begin(b, t, ev);
	if (!c)
		return;
	c->in_run = true;
	c->user = false;
	c->reason = BLAME_IN_RUN;
	c->isa = 0;
	c->rip = 0;
	c->start_ns = c->since_ns = t->model.since_ns;
}

void exit_return_run(struct blame *b, struct thread *t, uint64_t ns)
{
	if (t->cycle && t->cycle->open && t->cycle->in_run)
		exit_end(b, t, ns);
}

bool exit_drop(struct thread *t)
{
	bool open = t->cycle && t->cycle->open;

	if (open)
		t->cycle->open = false;
	return open;
}

void exit_drop_run(struct blame *b, struct thread *t, uint64_t ns)
{
	struct cycle *c = t->cycle;

	if (!c || !c->open || !c->in_run)
		return;
	exit_drop(t);
	b->counts.unseen++;
	b->counts.unseen_ns += ns - c->start_ns;
}

void exits_restart(struct blame *b)
{
	struct model_thread *m;

	b->exits_seen = true;
	b->counts.userspace = false;
	for (uint32_t at = 0; (m = model_thread_next(&b->model, &at));) {
		struct cycle *c = ((struct thread *)m)->cycle;

		if (c)
			c->open = c->done = false;
	}
	b->counts.exits = b->counts.cut = b->counts.open_sleeps = 0;
	b->counts.unmatched = b->counts.lost = 0;
	b->counts.unseen = b->counts.unseen_ns = 0;
	b->counts.too_long = b->counts.unnamed = b->counts.halts = b->counts.busy_halts =
		0;
	b->sink.restart(b->sink.arg);
}
