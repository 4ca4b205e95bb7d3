// SPDX-License-Identifier: GPL-2.0-or-later
/* Sums up who ran while threads waited for a CPU: once a wait is over, as it may turn out that it was none. */

#include "analyzers/sched/internal.h"

static uint64_t preemptor_key(const struct follow *t, uint32_t tid)
{
	return (uint64_t)t->model.number << 32 | tid;
}

/* Removes the newest charge of the wait. */
static struct charge charge_pop(struct sched *s, struct follow *t)
{
	struct charge *c = hash_find_u64(&s->charges, preemptor_key(t, t->charged_tid)), copy = *c;

	hash_remove(&s->charges, c);
	t->charged_tid = copy.next_tid;
	t->nr_charges--;
	return copy;
}

void preemptors_forget(struct sched *s, struct follow *t)
{
	while (t->nr_charges)
		charge_pop(s, t);
	t->unknown_ns = 0;
}

void preemptors_charge(void *arg, struct model_thread *m, uint64_t from_ns, uint64_t to_ns,
		   const struct runner *who)
{
	struct follow *t = (struct follow *)m;
	struct sched *s = arg;
	uint64_t ns = sched_in_window(s, from_ns, to_ns);
	struct charge *c;
	bool is_new;

	if (!ns)
		return;
	c = who->known ? hash_add_u64(&s->charges, preemptor_key(t, who->tid), &is_new) : NULL;
	s->counts.unnamed += who->known && !c;
	if (!c) {
		t->unknown_ns += ns;
		return;
	}
	if (is_new) {
		c->tid = who->tid;
		c->next_tid = t->charged_tid;
		t->charged_tid = who->tid;
		t->nr_charges++;
	}
	memcpy(c->comm, who->comm, sizeof(c->comm));
	c->time_ns += ns;
}

static void preemptor_add(struct sched *s, struct follow *t, const struct charge *c)
{
	struct sched_preemptor *preemptor =
		hash_add_u64(&s->preemptors, preemptor_key(t, c->tid), NULL);

	if (!preemptor) {
		s->counts.unnamed++;
		return;
	}
	preemptor->thread = &t->t;
	preemptor->tid = c->tid;
	memcpy(preemptor->comm, c->comm, sizeof(preemptor->comm));
	preemptor->time_ns += c->time_ns;
}

void preemptors_count(struct sched *s, struct follow *t)
{
	while (t->nr_charges) {
		struct charge c = charge_pop(s, t);

		preemptor_add(s, t, &c);
	}
	if (t->unknown_ns)
		preemptor_add(s, t, &(struct charge){.tid = UINT32_MAX, .time_ns = t->unknown_ns});
	t->unknown_ns = 0;
}
