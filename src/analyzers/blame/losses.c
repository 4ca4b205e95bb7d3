// SPDX-License-Identifier: GPL-2.0-or-later
/* What of exits and of the global mutex becomes unknown when events are missing; what threads do: model/threads.h. */
#include "analyzers/blame/internal.h"

static void thread_is_lost(struct blame *b, struct thread *t, unsigned int what, uint64_t ns)
{
	struct cycle *c = t->cycle;

	part_cut(b, t, ns);
	if (what & (LOST_RUNS | LOST_PARTS) && t->vm)
		t->vm->owner = (struct owner){0};
	if (what & LOST_STACKS)
		t->stack = 0;
	if (!c || !c->open)
		return;
	c->unknown |= (what & LOST_PARTS) != 0;
	c->misplaced |= (what & LOST_PLACES) != 0;
	c->user &= !c->misplaced;
	if (c->in_run && what & (LOST_PLACES | LOST_RUNS))
		b->counts.lost += exit_drop(t);
}

void losses_touch_all(struct blame *b, struct thread *t)
{
	for (unsigned int i = 0; i < LOSSES; i++) {
		if (t->touched & 1u << i)
			continue;
		t->touched |= 1u << i;
		t->next_touched[i] = b->touched[i];
		b->touched[i] = t;
	}
}

/* Of the threads that had no event since the previous loss of this kind nothing more is lost. */
void losses_found(void *arg, unsigned int what, uint64_t ns)
{
	struct blame *b = arg;
	struct thread *t;

	for (unsigned int i = 0; i < LOSSES; i++)
		while (what & 1u << i && (t = b->touched[i])) {
			b->touched[i] = t->next_touched[i];
			t->touched &= ~(1u << i);
			thread_is_lost(b, t, what, ns);
		}
}
