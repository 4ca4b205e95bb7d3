// SPDX-License-Identifier: GPL-2.0-or-later
#include "model/losses.h"

#include "event/records.h"

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
	case EV_kvm_nested_vmexit:
	case EV_kvm_entry:
	case EV_kvm_userspace_exit:
	case EV_kvm_run:
		return LOST_EXITS;
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
	return 0; /* nothing: without its kvm_pio or kvm_mmio an exit has a less specific name */
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

unsigned int losses_note(struct loss_windows *l, const struct event *ev)
{
	unsigned int what = loss_kinds(ev);
	uint64_t until = what ? loss_until(ev) : 0;

	for (unsigned int i = 0; i < LOSSES; i++)
		if (what & 1u << i && until > l->until_ns[i])
			l->until_ns[i] = until;
	l->newest_ns = until > l->newest_ns ? until : l->newest_ns;
	return what;
}
