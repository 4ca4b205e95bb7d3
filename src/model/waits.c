// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who runs on a CPU while threads wait for it. An event that switches the CPU shows who ran up to there and who runs
 * from there on; switches between tasks that are not of the VM are in sched_ran, if that was recorded. Where another
 * task than the one that had got the CPU leaves it, others ran in between, unseen: who they were is unknown. Where
 * events do not say of which CPU they are, the task that leaves by a switch may have begun long after the wait.
 */
#include <stdlib.h>

#include "event/records.h"
#include "model/waits.h"

/* Each switch of a CPU costs time for each of its waiters. */
enum { CPUS_MAX = 1 << 16, WAITERS_MAX = 32 /* of a CPU, of which it is known who runs instead */ };

/* A CPU that threads wait for. */
struct waited_cpu {
	struct runner now; /* who runs there */
	bool is_lost;	   /* others may have run, as events are missing: */
	uint64_t losses;   /* ... or this is not the number of losses of switches between other tasks */
	struct model_thread *waiters;
	unsigned int nr_waiters;
};

struct cpu_entry {
	uint64_t key; /* source, CPU */
	struct waited_cpu *cpu;
};

static struct waited_cpu *cpu_find(struct model *m, uint64_t key)
{
	struct recent_cpu *recent = &m->recent_cpu[key % RECENT_CPUS];
	const struct cpu_entry *e;

	if ((uint32_t)key == RECORD_CPU_UNKNOWN)
		return NULL;
	if (recent->cpu && recent->key == key)
		return recent->cpu;
	e = hash_find_u64(&m->cpus, key);
	if (e && e->cpu)
		*recent = (struct recent_cpu){key, e->cpu};
	return e ? e->cpu : NULL;
}

static struct waited_cpu *cpu_get(struct model *m, const struct event *ev, uint32_t cpu)
{
	uint64_t key = (uint64_t)ev->source << 32 | cpu;
	struct waited_cpu *known = cpu_find(m, key);
	struct cpu_entry *e;

	if (known || cpu == RECORD_CPU_UNKNOWN)
		return known;
	e = hash_add_u64(&m->cpus, key, NULL);
	if (e && !e->cpu)
		e->cpu = calloc(1, sizeof(*e->cpu));
	m->counts.refused += !e || !e->cpu;
	return e ? e->cpu : NULL;
}

static struct runner runner_of(uint32_t cpu, uint32_t tid, const char comm[16])
{
	struct runner r = {.known = true, .cpu = cpu, .tid = tid};

	record_text(comm, sizeof(r.comm), r.comm, sizeof(r.comm));
	return r;
}

static bool cpu_is_lost(const struct model *m, const struct waited_cpu *cpu)
{
	return cpu->is_lost || cpu->losses != m->counts.task_losses;
}

const struct runner *model_runner(const struct model *m, const struct model_thread *t)
{
	const struct waited_cpu *cpu = t->wait.cpu;

	return cpu && cpu->now.known && !cpu_is_lost(m, cpu) ? &cpu->now : NULL;
}

/* The task ran up to ns, since who ran instead of the thread was last known. */
static void taken_until(struct model *m, struct model_thread *t, uint64_t ns,
			const struct runner *who)
{
	uint64_t from_ns = t->wait.taken_ns;

	if (ns <= from_ns)
		return;
	t->wait.taken_ns = ns;
	m->reader.taken(m->reader.arg, t, from_ns, ns, who);
}

static void unknown_until(struct model *m, struct model_thread *t, uint64_t ns)
{
	uint32_t cpu = t->wait.cpu ? t->wait.cpu->now.cpu : RECORD_CPU_UNKNOWN;

	taken_until(m, t, ns, &(struct runner){.cpu = cpu});
}

static void wait_add(struct model *m, struct model_thread *t, struct waited_cpu *cpu)
{
	t->wait.is_one_too_many = cpu && cpu->nr_waiters == WAITERS_MAX;
	m->counts.unnamed += t->wait.is_one_too_many;
	if (!cpu || t->wait.is_one_too_many)
		return;
	t->wait.cpu = cpu;
	t->wait.next = cpu->waiters;
	if (t->wait.next)
		t->wait.next->wait.prev = t;
	cpu->waiters = t;
	cpu->nr_waiters++;
	m->nr_waits++;
}

/* The task has got the CPU by this event. Others may have followed unseen, where events are missing. */
static void cpu_is_got(const struct model *m, struct waited_cpu *cpu, const struct event *ev,
		       const struct rec_sched_switch *sw)
{
	cpu->now = runner_of(ev->cpu, sw->next_tid, sw->next_comm);
	cpu->is_lost = losses_cover(&m->losses, LOST_TASKS, ev->time_ns);
	cpu->losses = m->counts.task_losses;
}

void wait_begins(struct model *m, struct model_thread *t, uint64_t ns, const struct event *ev)
{
	struct waited_cpu *cpu = NULL;

	if (!m->reader.taken)
		return;
	t->wait.taken_ns = ns;
	if (ev->type->id == EV_sched_switch)
		cpu = cpu_get(m, ev, ev->cpu);
	if (cpu && !cpu->waiters) {
		RECORD(sched_switch, sw, ev);
		cpu_is_got(m, cpu, ev, sw);
	}
	wait_add(m, t, cpu);
}

void wait_finds_cpu(struct model *m, struct model_thread *t, const struct event *ev, uint32_t to)
{
	struct waited_cpu *cpu = NULL;

	if (m->reader.taken && t->state == THREAD_WOKEN && !t->wait.cpu)
		cpu = cpu_get(m, ev, to);
	if (!cpu)
		return;
	if (!cpu->waiters) { /* nobody watched it */
		cpu->now.cpu = to;
		cpu->now.known = cpu->is_lost = false;
		cpu->losses = m->counts.task_losses;
	}
	wait_add(m, t, cpu);
}

static void wait_forget(struct model *m, struct model_thread *t)
{
	struct thread_wait *w = &t->wait;

	w->is_one_too_many = false;
	if (w->cpu) {
		if (w->next)
			w->next->wait.prev = w->prev;
		*(w->prev ? &w->prev->wait.next : &w->cpu->waiters) = w->next;
		w->cpu->nr_waiters--;
		m->nr_waits--;
		w->cpu = NULL;
		w->next = w->prev = NULL;
	}
}

/* It may get another CPU than it waited for; then who runs there is unknown from the last switch on. */
static void wait_is_over(struct model *m, struct model_thread *t, uint64_t ns,
			 const struct event *ev)
{
	const struct runner *now = model_runner(m, t);

	if (t->wait.is_one_too_many || (t->wait.cpu && cpu_is_lost(m, t->wait.cpu))) {
		unknown_until(m, t, ns);
	} else if (now) {
		taken_until(m, t, ns, now);
	} else if (ev && ev->type->id == EV_sched_switch && ev->cpu != RECORD_CPU_UNKNOWN) {
		RECORD(sched_switch, sw, ev);
		struct runner prev = runner_of(ev->cpu, sw->prev_tid, sw->prev_comm);

		taken_until(m, t, ns, &prev);
	} else {
		unknown_until(m, t, ns);
	}
}

void wait_ends(struct model *m, struct model_thread *t, uint64_t ns, const struct event *ev)
{
	if (!m->reader.taken)
		return;
	if (thread_waits(t))
		wait_is_over(m, t, ns, ev);
	if (ev)
		wait_forget(m, t);
}

const struct rec_sched_switch *switch_read(const struct event *ev, struct rec_sched_switch *copy)
{
	if (ev->type->id == EV_sched_switch)
		return record_sched_switch(ev, copy);

	RECORD(sched_ran, ran, ev);

	copy->prev_tid = ran->prev_tid;
	copy->next_tid = ran->next_tid;
	memcpy(copy->prev_comm, ran->prev_comm, sizeof(copy->prev_comm));
	memcpy(copy->next_comm, ran->next_comm, sizeof(copy->next_comm));
	return copy;
}

void cpu_switches(struct model *m, const struct event *ev)
{
	struct waited_cpu *cpu =
		m->nr_waits ? cpu_find(m, (uint64_t)ev->source << 32 | ev->cpu) : NULL;
	struct rec_sched_switch copy;
	const struct rec_sched_switch *sw;
	struct runner prev;

	if (!cpu || !cpu->waiters)
		return;
	sw = switch_read(ev, &copy);
	prev = runner_of(ev->cpu, sw->prev_tid, sw->prev_comm);
	for (struct model_thread *t = cpu->waiters; t; t = t->wait.next)
		if (!cpu_is_lost(m, cpu) && (!cpu->now.known || cpu->now.tid == prev.tid))
			taken_until(m, t, ev->time_ns, &prev);
		else
			unknown_until(m, t, ev->time_ns);
	cpu_is_got(m, cpu, ev, sw);
}

void waits_deinit(struct model *m)
{
	const struct cpu_entry *e;

	for (uint32_t at = 0; (e = hash_next(&m->cpus, &at));)
		free(e->cpu);
	hash_deinit(&m->cpus);
}

void waits_init(struct model *m)
{
	m->cpus = HASH_TABLE(struct cpu_entry, 1, CPUS_MAX);
}
