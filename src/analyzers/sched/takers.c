// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who runs on a CPU while threads wait for it. An event that switches the CPU shows who ran up to there and who runs
 * from there on. Switches between tasks that are not of the VM are in sched_ran, if that was recorded.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/sched/internal.h"
#include "base/array.h"

static void comm_read(const struct event *ev, const char *name, char comm[16])
{
	const struct field *f = event_field(ev->type, name);

	if (f)
		event_text(ev, f, comm, 16);
	else
		*comm = '\0';
	text_neutralise(comm);
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

void wait_begins(struct follow *t, struct waited_cpu *cpu, uint64_t ns)
{
	t->taken_ns = ns;
	t->cpu = cpu;
	if (!cpu)
		return;
	t->next = cpu->waiters;
	cpu->waiters = t;
}

void wait_forget(struct follow *t)
{
	struct follow **at = t->cpu ? &t->cpu->waiters : NULL;

	while (at && *at && *at != t)
		at = &(*at)->next;
	if (at && *at)
		*at = t->next;
	t->cpu = NULL;
	t->next = NULL;
	t->nr_charges = 0;
}

/* The task ran up to ns since who ran instead of the thread was last known. */
static void charge(struct sched *s, struct follow *t, uint32_t tid, const char *comm, uint64_t ns)
{
	unsigned int i = 0;

	if (ns <= t->taken_ns)
		return;
	while (i < t->nr_charges && t->charges[i].tid != tid)
		i++;
	if (i == t->nr_charges) {
		if (array_room(t->charges, t->nr_charges)) {
			s->err = -ENOMEM;
			return;
		}
		t->charges[t->nr_charges++] = (struct charge){.tid = tid};
	}
	memcpy(t->charges[i].comm, comm, sizeof(t->charges[i].comm));
	t->charges[i].time_ns += ns - t->taken_ns;
	t->taken_ns = ns;
}

static void charge_unknown(struct sched *s, struct follow *t, uint64_t ns)
{
	static const char nobody[16];

	charge(s, t, UINT32_MAX, nobody, ns);
}

/* The wait counts, and so do those who ran instead. */
static void wait_counts(struct sched *s, struct follow *t)
{
	for (unsigned int i = 0; i < t->nr_charges; i++) {
		const struct charge *c = &t->charges[i];
		struct sched_taker *taker =
			hash_add_u64(&s->takers, (uint64_t)t->t.number << 32 | c->tid, NULL);

		if (!taker)
			continue;
		taker->thread = &t->t;
		taker->tid = c->tid;
		memcpy(taker->comm, c->comm, sizeof(taker->comm));
		taker->time_ns += c->time_ns;
	}
	wait_forget(t);
}

void cpu_switches(struct sched *s, const struct event *ev)
{
	struct waited_cpu *cpu = waited_cpu_get(s, ev, ev->cpu);
	uint32_t prev = (uint32_t)event_value(ev, "prev_tid");
	char comm[16];

	if (!cpu)
		return;
	comm_read(ev, "prev_comm", comm);
	for (struct follow *t = cpu->waiters; t; t = t->next)
		if (!cpu->known || cpu->tid == prev)
			charge(s, t, prev, comm, ev->time_ns);
		else /* others ran in between, unseen */
			charge_unknown(s, t, ev->time_ns);
	cpu->known = true;
	cpu->tid = (uint32_t)event_value(ev, "next_tid");
	comm_read(ev, "next_comm", cpu->comm);
}

/* It may get another CPU than it waited for; then who runs there is unknown from the last switch on. */
void wait_ends(struct sched *s, struct follow *t, const struct event *ev)
{
	char comm[16];

	if (t->cpu && t->cpu->known) {
		charge(s, t, t->cpu->tid, t->cpu->comm, ev->time_ns);
	} else {
		comm_read(ev, "prev_comm", comm);
		charge(s, t, (uint32_t)event_value(ev, "prev_tid"), comm, ev->time_ns);
	}
	wait_counts(s, t);
}

void wait_breaks_off(struct sched *s, struct follow *t, uint64_t ns)
{
	if (t->cpu && t->cpu->known)
		charge(s, t, t->cpu->tid, t->cpu->comm, ns);
	else
		charge_unknown(s, t, ns);
	wait_counts(s, t);
}
