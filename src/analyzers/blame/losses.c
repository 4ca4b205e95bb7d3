// SPDX-License-Identifier: GPL-2.0-or-later
/* What is unknown when events are missing: it depends on their type, which the record of a loss contains. */
#include "analyzers/blame/internal.h"

/* Unknown where events of this type are missing. */
static unsigned int losses_of(uint64_t id)
{
	switch (id) {
	case EV_kvm_exit:
	case EV_kvm_nested_vmexit:
	case EV_kvm_entry:
	case EV_kvm_userspace_exit:
	case EV_kvm_run:
		return LOST_EXITS;
	case EV_sched_switch:
	case EV_sched_block:
	case EV_sched_woken:
		return LOST_RUNS;
	case EV_kvm_page_fault:
	case EV_kvm_inj_virq:
	case EV_kvm_vcpu_wakeup:
	case EV_bql_locked:
	case EV_bql_unlock:
		return LOST_PARTS;
	case EV_sched_ran:
		return LOST_TASKS;
	case EV_sched_holder:
		return LOST_STACKS;
	case 0: /* any type */
		return LOST_EXITS | LOST_RUNS | LOST_PARTS | LOST_TASKS | LOST_STACKS;
	}
	return 0; /* nothing: without its kvm_pio or kvm_mmio an exit has a less specific name */
}

bool losses_cover(const struct blame *b, unsigned int what, uint64_t ns)
{
	for (unsigned int i = 0; i < LOSSES; i++)
		if (what & 1u << i && b->lost_until_ns[i] >= ns && b->lost_until_ns[i])
			return true;
	return false;
}

static void thread_is_lost(struct blame *b, struct thread *t, unsigned int what, uint64_t ns)
{
	struct cycle *c = t->cycle;

	part_cut(b, t, ns);
	if (what & (LOST_RUNS | LOST_PARTS) && t->vm)
		t->vm->owner = (struct owner){0};
	if (what & LOST_RUNS) {
		t->run = RUN_UNKNOWN;
		t->block = (struct block){0};
	}
	if (what & LOST_TASKS)
		t->other = (struct blame_who){.number = t->other.number};
	if (what & LOST_STACKS)
		t->stack = 0;
	if (!c || !c->open)
		return;
	if (what & (LOST_RUNS | LOST_PARTS))
		c->unknown = true;
	if (what & LOST_EXITS || (what & LOST_RUNS && c->in_run))
		b->counts.lost += exit_drop(t);
}

void losses_touch(struct blame *b, struct thread *t)
{
	for (unsigned int i = 0; t->touched != LOST_ALL && i < LOSSES; i++) {
		if (t->touched & 1u << i)
			continue;
		t->touched |= 1u << i;
		t->next_touched[i] = b->touched[i];
		b->touched[i] = t;
	}
}

/* Of the threads that had no event since the previous loss of this kind nothing more is lost. */
static void lose(struct blame *b, unsigned int what, uint64_t ns)
{
	struct thread *t;

	for (unsigned int i = 0; i < LOSSES; i++)
		while (what & 1u << i && (t = b->touched[i])) {
			b->touched[i] = t->next_touched[i];
			t->touched &= ~(1u << i);
			thread_is_lost(b, t, what, ns);
		}
}

void losses_event(struct blame *b, const struct event *ev)
{
	unsigned int id = ev->type->id;
	bool dropped = id == EV_probe_dropped; /* there are no more of them */
	unsigned int what =
		id == EV_gap ? losses_of(0)
			     : losses_of(event_value(ev, dropped ? "dropped_event" : "lost_event"));
	uint64_t until = dropped ? UINT64_MAX : event_value(ev, "until");

	if (!what)
		return;
	lose(b, what, ev->time_ns);
	if (until < ev->time_ns)
		until = ev->time_ns;
	for (unsigned int i = 0; i < LOSSES; i++)
		if (what & 1u << i && until > b->lost_until_ns[i])
			b->lost_until_ns[i] = until;
}
