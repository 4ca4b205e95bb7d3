// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who runs on a CPU while threads wait for it. An event that switches the CPU shows who ran up to there and who runs
 * from there on. Switches between tasks that are not of the VM are in sched_ran, if that was recorded.
 */
#include <errno.h>

#include "analyzers/sched/internal.h"
#include "event/records.h"

static void comm_read(const char text[16], char comm[16])
{
	record_text(text, 16, comm, 16);
	text_sanitize(comm);
}

struct waited_cpu *waited_cpu_get(struct sched *s, const struct event *ev, uint32_t cpu)
{
	uint64_t key = (uint64_t)ev->source << 32 | cpu;
	struct cpu_entry *e = hash_add_u64(&s->cpus, key, NULL);

	if (e && !e->cpu)
		e->cpu = calloc(1, sizeof(*e->cpu));
	s->counts.refused += !e || !e->cpu;
	return e ? e->cpu : NULL;
}

void wait_begins(struct sched *s, struct follow *t, struct waited_cpu *cpu, uint64_t ns)
{
	t->taken_ns = ns;
	t->is_one_too_many = cpu && cpu->nr_waiters == SCHED_WAITERS_MAX;
	s->counts.unnamed += t->is_one_too_many;
	if (!cpu || t->is_one_too_many)
		return;
	t->cpu = cpu;
	t->next = cpu->waiters;
	if (t->next)
		t->next->prev = t;
	cpu->waiters = t;
	cpu->nr_waiters++;
}

static uint64_t taker_key(const struct follow *t, uint32_t tid)
{
	return (uint64_t)t->model.number << 32 | tid;
}

/* Removes the newest charge of the wait. */
static struct charge charge_pop(struct sched *s, struct follow *t)
{
	struct charge *c = hash_find_u64(&s->charges, taker_key(t, t->charged_tid)), copy = *c;

	hash_remove(&s->charges, c);
	t->charged_tid = copy.next_tid;
	t->nr_charges--;
	return copy;
}

void wait_forget(struct sched *s, struct follow *t)
{
	while (t->nr_charges)
		charge_pop(s, t);
	t->unknown_ns = 0;
	t->is_one_too_many = false;
	if (!t->cpu)
		return;
	if (t->next)
		t->next->prev = t->prev;
	*(t->prev ? &t->prev->next : &t->cpu->waiters) = t->next;
	t->cpu->nr_waiters--;
	t->cpu = NULL;
	t->next = t->prev = NULL;
}

static void charge_unknown(struct follow *t, uint64_t ns)
{
	if (ns <= t->taken_ns)
		return;
	t->unknown_ns += ns - t->taken_ns;
	t->taken_ns = ns;
}

/* The task ran up to ns since who ran instead of the thread was last known. */
static void charge(struct sched *s, struct follow *t, uint32_t tid, const char *comm, uint64_t ns)
{
	struct charge *c;
	bool is_new;

	if (ns <= t->taken_ns)
		return;
	c = hash_add_u64(&s->charges, taker_key(t, tid), &is_new);
	if (!c) {
		s->counts.unnamed++;
		charge_unknown(t, ns);
		return;
	}
	if (is_new) {
		c->tid = tid;
		c->next_tid = t->charged_tid;
		t->charged_tid = tid;
		t->nr_charges++;
	}
	memcpy(c->comm, comm, sizeof(c->comm));
	c->time_ns += ns - t->taken_ns;
	t->taken_ns = ns;
}

static void taker_add(struct sched *s, struct follow *t, const struct charge *c)
{
	struct sched_taker *taker = hash_add_u64(&s->takers, taker_key(t, c->tid), NULL);

	if (!taker) {
		s->counts.unnamed++;
		return;
	}
	taker->thread = &t->t;
	taker->tid = c->tid;
	memcpy(taker->comm, c->comm, sizeof(taker->comm));
	taker->time_ns += c->time_ns;
}

/* The wait counts, and so do those who ran instead. */
static void wait_counts(struct sched *s, struct follow *t)
{
	while (t->nr_charges) {
		struct charge c = charge_pop(s, t);

		taker_add(s, t, &c);
	}
	if (t->unknown_ns)
		taker_add(s, t, &(struct charge){.tid = UINT32_MAX, .time_ns = t->unknown_ns});
	wait_forget(s, t);
}

void cpu_switches(struct sched *s, const struct event *ev)
{
	struct waited_cpu *cpu = waited_cpu_get(s, ev, ev->cpu);
	struct rec_sched_switch copy;
	const struct rec_sched_switch *sw = switch_read(ev, &copy);
	char comm[16];

	if (!cpu)
		return;
	if (cpu->waiters)
		comm_read(sw->prev_comm, comm);
	for (struct follow *t = cpu->waiters; t; t = t->next)
		if (!cpu->known || cpu->tid == sw->prev_tid)
			charge(s, t, sw->prev_tid, comm, ev->time_ns);
		else /* others ran in between, unseen */
			charge_unknown(t, ev->time_ns);
	cpu->known = true;
	cpu->tid = sw->next_tid;
	comm_read(sw->next_comm, cpu->comm);
}

/* It may get another CPU than it waited for; then who runs there is unknown from the last switch on. */
void wait_ends(struct sched *s, struct follow *t, const struct event *ev)
{
	char comm[16];

	if (t->is_one_too_many) {
		charge_unknown(t, ev->time_ns);
	} else if (t->cpu && t->cpu->known) {
		charge(s, t, t->cpu->tid, t->cpu->comm, ev->time_ns);
	} else {
		RECORD(sched_switch, sw, ev);

		comm_read(sw->prev_comm, comm);
		charge(s, t, sw->prev_tid, comm, ev->time_ns);
	}
	wait_counts(s, t);
}

void wait_breaks_off(struct sched *s, struct follow *t, uint64_t ns)
{
	if (t->cpu && t->cpu->known)
		charge(s, t, t->cpu->tid, t->cpu->comm, ns);
	else
		charge_unknown(t, ns);
	wait_counts(s, t);
}
