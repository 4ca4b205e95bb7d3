// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts the events that a profile of guest code can be made of, and chooses among them. */
#include <errno.h>

#include "analyzers/profile/host_events.h"
#include "base/error.h"
#include "event/exit_reason.h"
#include "event/handlers.h"
#include "event/records.h"

enum { REASON_VMX_INTERRUPT = 1, REASON_SVM_INTERRUPT = 0x60 }; /* SDM vol. 3 appendix C; APM 2 appendix C */

static bool is_interrupt(uint64_t reason, uint64_t isa)
{
	return (isa == EXIT_ISA_VMX && (reason & 0xffff) == REASON_VMX_INTERRUPT) ||
	       (isa == EXIT_ISA_SVM && reason == REASON_SVM_INTERRUPT);
}

/* Of an event that has one. */
uint64_t host_event_rip(const struct event *ev)
{
	switch (ev->type->id) {
#define RIP(event) case EV_##event: { RECORD(event, r, ev); return r->rip; }
	RIP(guest_sample)
	RIP(guest_stack)
	RIP(kvm_exit)
	RIP(kvm_page_fault)
	RIP(kvm_emulate_insn)
#undef RIP
	}
	return 0;
}

/* Of a guest_sample or guest_stack: WHERE_* */
uint32_t host_event_where(const struct event *ev)
{
	if (ev->type->id == EV_guest_stack) {
		RECORD(guest_stack, stack, ev);
		return stack->where;
	}
	RECORD(guest_sample, sample, ev);
	return sample->where;
}

static void stack_count(struct host_profile_totals *t, const struct event *ev)
{
	RECORD(guest_stack, r, ev);

	t->stacks++;
	t->cut[r->error < HOST_ERRORS ? r->error : HOST_ERRORS - 1]++;
}

bool host_event_is_interrupt(const struct event *ev)
{
	RECORD(kvm_exit, r, ev);

	return is_interrupt(r->reason, r->isa);
}

static void count_sample(struct host_profile_totals *t, const struct event *ev)
{
	uint32_t where = host_event_where(ev);

	t->clock[where < 3 ? where : 2]++;
	t->unknown += where == WHERE_GUEST && !host_event_rip(ev);
}

static void count_stack(struct host_profile_totals *t, const struct event *ev)
{
	count_sample(t, ev);
	stack_count(t, ev);
}

static void count_host(struct host_profile_totals *t, const struct event *ev)
{
	RECORD(host_stack, r, ev);

	t->host.all++;
	t->host.kernel_cut += r->nr_kernel >= HOST_FRAMES_MAX;
	t->host.user_cut += r->nr_user >= HOST_FRAMES_MAX;
	t->host.user_none += !r->nr_user;
	t->host.user_one += r->nr_user == 1;
}

static void count_exit(struct host_profile_totals *t, const struct event *ev)
{
	t->exits++;
	t->interrupts += host_event_rip(ev) && host_event_is_interrupt(ev);
}

static void count_other(struct host_profile_totals *t, const struct event *ev)
{
	t->others += host_event_rip(ev) != 0;
}

static const HANDLERS(struct host_profile_totals) counters = {{
	[EV_guest_sample] = count_sample,
	[EV_guest_stack] = count_stack,
	[EV_host_stack] = count_host,
	[EV_kvm_exit] = count_exit,
	[EV_kvm_page_fault] = count_other,
	[EV_kvm_emulate_insn] = count_other,
}};

void host_profile_count(const struct host_profile_options *opt, const struct event *ev,
			struct host_profile_totals *t)
{
	t->has_exits |= ev->type->id == EV_kvm_exit && host_event_rip(ev);
	if (!host_profile_has(opt, ev))
		return;
	if (counter_note(&t->seen, ev))
		t->counters++;
	else if (counter_follows(&t->seen, ev))
		t->chains++;
	else
		handlers_call(&counters, t, ev);
}

int host_profile_choose(const struct host_profile_totals *t, bool causes, enum host_profile_of *ret)
{
	if (causes)
		*ret = HOST_CAUSES;
	else if (t->clock[0])
		*ret = HOST_CLOCK;
	else if (t->clock[1])
		*ret = HOST_EMULATED;
	else if (t->interrupts)
		*ret = HOST_INTERRUPT;
	else if (t->host.all && !t->others)
		*ret = HOST_CLOCK;
	else if (t->others || !t->chains)
		*ret = HOST_OTHERS;
	else
		*ret = HOST_CODE;
	if (*ret == HOST_CAUSES && !t->has_exits)
		return fail_hint(fail(-ENODATA, "the trace has no kvm_exit with the guest's "
					       "instruction pointer"),
				 "some KVM backends have none; record --sample HZ shows where the "
				 "guest spends its time");
	if (*ret == HOST_OTHERS && !t->others)
		return fail_hint(fail(-ENODATA, "no event has the guest's instruction pointer"),
				 "record it with --sample 997, or with kvm_exit");
	return 0;
}

bool host_profile_counts(const char *event)
{
	return handlers_want(&counters, event);
}
