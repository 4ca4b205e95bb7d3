// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A guest's side, from its own trace: which task runs on each of its CPUs, its interrupt handlers, each task for
 * itself, and its block requests from issue to completion. Where the host's part of a request is known, its completion
 * is a point where it happened: in the interrupt handler or, without one, in the task. There the request's arrow ends.
 */
#include <errno.h>

#include "analyzers/timeline/timeline.h"
#include "base/error.h"
#include "base/hash.h"
#include "event/guest_fields.h"

enum {
	CPUS_MAX = 1024,
	TASKS_MAX = 1 << 15,
	LANES_MAX = 512, /* block requests at once */
};

struct guest_cpu {
	bool known, irq_known;
	struct timeline_run task, irq;
};

struct guest_task {
	uint64_t pid;
	struct timeline_run run;
};

struct block_lane {
	struct timeline_run run;
	struct guest_block rq;
	unsigned int cpu; /* that issued it */
	uint64_t flow;	  /* 0: the host did not see it */
};

struct timeline_guest {
	struct timeline *t;
	uint32_t group;
	struct guest_cpu cpu[CPUS_MAX];
	struct hash_table tasks;
	unsigned int nr_lanes;
	struct block_lane lane[LANES_MAX];
};

static struct guest_cpu *cpu_get(struct timeline_guest *g, unsigned int cpu)
{
	struct guest_cpu *c = cpu < CPUS_MAX ? &g->cpu[cpu] : NULL;

	if (!c || c->known)
		return c;
	c->known = true;
	c->task.track = timeline_track(g->t, g->group, TRACK_VCPU, 2 * cpu, 0, "CPU %u", cpu);
	return c;
}

/* Valid until the next call. NULL: there are too many. */
static struct guest_task *task_get(struct timeline_guest *g, uint32_t pid, const char *comm)
{
	struct guest_task *task = hash_find_u64(&g->tasks, pid);
	bool first;

	if (task)
		return task;
	task = hash_add_u64(&g->tasks, pid, &first);
	if (first)
		task->run.track =
			timeline_track(g->t, g->group, TRACK_TASK, pid, 0, "%s %u", comm, pid);
	return task;
}

static void switch_handle(struct timeline_guest *g, const struct event *ev)
{
	struct guest_cpu *c = cpu_get(g, ev->cpu);
	struct guest_task *task;
	uint64_t prev = 0, next = 0;
	char comm[32] = "", was[32] = "";

	if (!c || !guest_number(ev, next_pid, &next))
		return;
	guest_number(ev, prev_pid, &prev);
	guest_text(ev, next_comm, comm, sizeof(comm));
	guest_text(ev, prev_comm, was, sizeof(was));
	run_end(g->t, &c->task, ev->time_ns);
	task = prev ? task_get(g, (uint32_t)prev, was) : NULL;
	if (task)
		run_end(g->t, &task->run, ev->time_ns);
	if (!next)
		return; /* idle: nothing is drawn */
	run_begin(g->t, &c->task, ev->time_ns, SLICE_TASK, "%s %u", comm, (uint32_t)next);
	task = task_get(g, (uint32_t)next, comm);
	if (!task)
		return;
	timeline_track_comm(g->t, task->run.track, comm, (uint32_t)next);
	run_begin(g->t, &task->run, ev->time_ns, SLICE_TASK, "CPU %u", ev->cpu);
}

static void irq_handle(struct timeline_guest *g, const struct event *ev, bool enter)
{
	struct guest_cpu *c = cpu_get(g, ev->cpu);
	uint64_t irq = 0;
	char name[40] = "";

	if (!c)
		return;
	if (!enter) {
		run_end(g->t, &c->irq, ev->time_ns);
		return;
	}
	if (!c->irq_known)
		c->irq.track = timeline_track(g->t, g->group, TRACK_VCPU, 2u * ev->cpu + 1, 0,
					      "CPU %u interrupts", ev->cpu);
	c->irq_known = true;
	guest_number(ev, irq, &irq);
	guest_text(ev, name, name, sizeof(name));
	run_begin(g->t, &c->irq, ev->time_ns, SLICE_IRQ, "irq %u %s", (uint32_t)irq, name);
}

/* ---- block requests ---- */

static bool rq_same(const struct guest_block *a, const struct guest_block *b)
{
	return a->major == b->major && a->minor == b->minor && a->sector == b->sector &&
	       a->op == b->op;
}

static struct block_lane *lane_get(struct timeline_guest *g)
{
	for (unsigned int i = 0; i < g->nr_lanes; i++)
		if (!g->lane[i].run.on)
			return &g->lane[i];
	if (g->nr_lanes == LANES_MAX)
		return NULL;
	g->lane[g->nr_lanes].run.track = timeline_track(g->t, g->group, TRACK_BLOCK, g->nr_lanes,
							0, "block #%u", g->nr_lanes + 1);
	return &g->lane[g->nr_lanes++];
}

static void issue_handle(struct timeline_guest *g, const struct event *ev)
{
	struct guest_block rq;
	struct block_lane *lane = guest_block(ev, &rq) ? lane_get(g) : NULL;
	const struct timeline_link *link;

	if (!lane)
		return;
	link = timeline_link_find(g->t, LINK_ISSUE, ev->pid, ev->time_ns, rq.sector);
	lane->rq = rq;
	lane->cpu = ev->cpu;
	lane->flow = link ? link->flow : 0;
	run_begin(g->t, &lane->run, ev->time_ns, SLICE_REQUEST, "%u,%u %c %llu+%u", rq.major,
		  rq.minor, rq.op ? rq.op : '-', (unsigned long long)rq.sector, rq.sectors);
	run_flow(&lane->run, lane->flow);
}

static void arrow_end(struct timeline_guest *g, const struct block_lane *lane,
		      const struct event *ev)
{
	struct guest_cpu *c = lane->flow ? cpu_get(g, ev->cpu) : NULL;
	char name[TIMELINE_NAME_BYTES];
	struct timeline_slice s = {.kind = SLICE_INSTANT,
				   .start_ns = ev->time_ns,
				   .end_ns = ev->time_ns,
				   .name = name,
				   .flow = &lane->flow,
				   .nr_flows = 1,
				   .flows_end = 1};

	if (!c)
		return;
	s.track = c->irq.on ? c->irq.track : c->task.track;
	snprintf(name, sizeof(name), "complete %u,%u %llu", lane->rq.major, lane->rq.minor,
		 (unsigned long long)lane->rq.sector);
	timeline_slice(g->t, &s);
}

/* Of two that are alike, as two CPUs may read a sector at once, the one of this CPU: blk-mq completes it there. */
static struct block_lane *lane_find(struct timeline_guest *g, const struct guest_block *rq,
				    unsigned int cpu)
{
	struct block_lane *found = NULL;

	for (unsigned int i = 0; i < g->nr_lanes; i++) {
		struct block_lane *lane = &g->lane[i];

		if (lane->run.on && rq_same(&lane->rq, rq) && (!found || lane->cpu == cpu))
			found = lane;
	}
	return found;
}

static void complete_handle(struct timeline_guest *g, const struct event *ev)
{
	struct guest_block rq;
	struct block_lane *lane = guest_block(ev, &rq) ? lane_find(g, &rq, ev->cpu) : NULL;

	if (!lane)
		return;
	run_end(g->t, &lane->run, ev->time_ns);
	arrow_end(g, lane, ev);
}

void timeline_guest_event(struct timeline_guest *g, const struct event *ev)
{
	switch (guest_event_kind(ev->type)) {
	case GUEST_SCHED_SWITCH:
		switch_handle(g, ev);
		break;
	case GUEST_IRQ_ENTRY:
	case GUEST_IRQ_EXIT:
		irq_handle(g, ev, guest_event_kind(ev->type) == GUEST_IRQ_ENTRY);
		break;
	case GUEST_BLOCK_ISSUE:
		issue_handle(g, ev);
		break;
	case GUEST_BLOCK_COMPLETE:
		complete_handle(g, ev);
		break;
	default:
		break;
	}
}

void timeline_guest_end(struct timeline_guest *g, uint64_t ns)
{
	size_t nr;
	_cleanup_free_ struct guest_task **task = hash_sorted(&g->tasks, NULL, &nr);

	for (unsigned int i = 0; i < CPUS_MAX; i++) {
		run_end(g->t, &g->cpu[i].task, ns);
		run_end(g->t, &g->cpu[i].irq, ns);
	}
	for (size_t i = 0; i < nr; i++)
		run_end(g->t, &task[i]->run, ns);
	g->t->not_drawn += g->tasks.refused;
	for (unsigned int i = 0; i < g->nr_lanes; i++)
		run_end(g->t, &g->lane[i].run, ns);
}

int timeline_guest_new(struct timeline *t, const char *title, const char *vm,
		       struct timeline_guest **ret)
{
	struct timeline_guest *g = calloc(1, sizeof(*g));

	if (!g)
		return fail(-ENOMEM, "out of memory");
	g->t = t;
	g->tasks = HASH_TABLE(struct guest_task, 1, TASKS_MAX);
	g->group = timeline_group(t, 0, true, vm ? "%s: %s" : "%s", title, vm);
	if (vm)
		timeline_group_vm(t, g->group, vm);
	*ret = g;
	return 0;
}

void timeline_guest_free(struct timeline_guest *g)
{
	if (!g)
		return;
	hash_deinit(&g->tasks);
	free(g);
}
