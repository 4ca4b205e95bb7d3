// SPDX-License-Identifier: GPL-2.0-or-later
/* Which facts each type of lost event stands for, and the windows of time in which they are unknown. */
#include "model/losses.h"

#include <stdlib.h>

#include "base/array.h"
#include "event/losses.h"
#include "event/records.h"

/* ---- one kind of loss ---- */

void loss_state_deinit(struct loss_state *l)
{
	free(l->gap_ns);
	hash_deinit(&l->threads);
}

struct seen_thread {
	uint64_t key; /* source, tid */
	uint16_t cpu; /* the first */
	bool moves;
};

bool loss_thread_moves(struct loss_state *l, const struct event *ev)
{
	struct seen_thread *t = NULL;
	bool first;

	if (ev->tid && ev->cpu != RECORD_CPU_UNKNOWN)
		t = hash_add_u64(&l->threads, (uint64_t)ev->source << 32 | ev->tid, &first);
	if (!t)
		return false;
	if (first)
		t->cpu = ev->cpu;
	t->moves |= t->cpu != ev->cpu;
	return t->moves;
}

static void gaps_begin(struct loss_state *l)
{
	l->gap_ns = calloc(UINT16_MAX + 1u, sizeof(*l->gap_ns));
	l->threads = HASH_TABLE(struct seen_thread, 1, MOVING_THREADS_MAX);
}

static void any_cpu_add(struct loss_state *l, const struct event *ev)
{
	uint64_t until_ns = loss_until_ns(ev);

	l->nr++;
	if (until_ns > l->blind_until_ns)
		l->blind_until_ns = until_ns;
}

bool gap_since_any(const struct loss_state *l, uint64_t ns)
{
	return array_any(l->nr_gap_cpus, i, l->gap_ns[i] > ns);
}

static void gap_add(struct loss_state *l, const struct event *ev)
{
	RECORD(gap, gap, ev);

	if (!l->gap_ns && record_has(ev, gap, gap_cpu))
		gaps_begin(l);
	if (!l->gap_ns || !record_has(ev, gap, gap_cpu) || gap->gap_cpu == RECORD_CPU_UNKNOWN) {
		any_cpu_add(l, ev);
		return;
	}
	if (gap->gap_cpu <= UINT16_MAX) {
		l->gap_ns[gap->gap_cpu] = gap->until;
		if (gap->gap_cpu >= l->nr_gap_cpus)
			l->nr_gap_cpus = gap->gap_cpu + 1u;
	}
	if (gap->until > l->newest_gap_ns)
		l->newest_gap_ns = gap->until;
}

void loss_state_add(struct loss_state *l, const struct event *ev, bool matters)
{
	if (ev->type->id == EV_gap)
		gap_add(l, ev);
	else if (matters)
		any_cpu_add(l, ev);
}

bool loss_matters(const struct event *ev, bool (*wants)(const char *event, void *arg))
{
	RECORD(lost, lost, ev);
	const struct event_type *t = event_type_ours(lost->lost_event);

	return t ? wants(t->name, NULL) : lost->lost_event < RECORD_DECLARED_FIRST;
}

/* ---- by kind ---- */

static uint64_t loss_until(const struct event *ev)
{
	struct rec_lost lost;
	struct rec_gap gap;
	uint64_t until = ev->type->id == EV_lost  ? record_lost(ev, &lost)->until
			 : ev->type->id == EV_gap ? record_gap(ev, &gap)->until
						  : UINT64_MAX; /* there are no more of them */

	return until > ev->time_ns ? until : ev->time_ns;
}

/* Unknown where events of this type are missing. */
static unsigned int kinds_of_type(uint64_t id)
{
	switch (id) {
	case EV_kvm_exit:
	case EV_kvm_entry:
	case EV_kvm_userspace_exit:
		return LOST_EXITS | LOST_PLACES;
	case EV_kvm_nested_vmexit:
	case EV_kvm_nested_vmexit_inject:
		return LOST_EXITS;
	case EV_kvm_run:
		return LOST_PLACES;
	case EV_sched_switch:
	case EV_sched_block:
	case EV_sched_woken:
	case EV_sched_wakeup:
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
		return LOST_ALL;
	}
	/* Nothing: without its kvm_pio or kvm_mmio an exit has a less specific name. Other types have no state. */
	return id >= RECORD_DECLARED_FIRST || event_type_ours((unsigned int)id) ? 0 : LOST_ALL;
}

unsigned int loss_kinds(const struct event *ev)
{
	struct rec_probe_dropped dropped;
	struct rec_lost lost;

	switch (ev->type->id) {
	case EV_gap:
		return LOST_ALL;
	case EV_lost:
		return kinds_of_type(record_lost(ev, &lost)->lost_event);
	case EV_probe_dropped:
		return kinds_of_type(record_probe_dropped(ev, &dropped)->dropped_event);
	}
	return 0;
}

bool losses_of_one_cpu(const struct loss_windows *l, const struct event *ev)
{
	struct rec_gap gap;

	return ev->type->id == EV_gap && record_has(ev, gap, gap_cpu) && l->exits.gap_ns &&
	       record_gap(ev, &gap)->gap_cpu != RECORD_CPU_UNKNOWN;
}

void losses_note(struct loss_windows *l, const struct event *ev)
{
	unsigned int what = loss_kinds(ev);
	uint64_t until = what ? loss_until(ev) : 0;

	for (unsigned int i = 0; i < LOSSES; i++)
		if (what & 1u << i && until > l->until_ns[i])
			l->until_ns[i] = until;
	l->newest_ns = until > l->newest_ns ? until : l->newest_ns;
	if (what && ev->type->id != EV_probe_dropped)
		loss_state_add(&l->exits, ev, what & LOST_EXITS);
	if (ev->type->id == EV_lost)
		loss_state_add(&l->places, ev, what & LOST_PLACES);
	if (what & LOST_PLACES && until > l->place_until_ns && !losses_of_one_cpu(l, ev))
		l->place_until_ns = until;
}

void losses_deinit(struct loss_windows *l)
{
	loss_state_deinit(&l->exits);
}
