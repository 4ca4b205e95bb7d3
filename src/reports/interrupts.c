// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The interrupts of each vCPU by vector, and how late its timer is (analyzers/interrupts). --vcpu selects rows: an
 * interrupt is raised by other threads.
 */
#include <errno.h>

#include "analyzers/interrupts/interrupts.h"
#include "base/error.h"
#include "output/event_notes.h"
#include "output/interrupt_report.h"
#include "reports/reports.h"
#include "reports/select.h"

static const struct report_needs vector_needs = {
	.events = "kvm_apic_accept_irq,kvm_inj_virq,kvm_eoi",
	.record_for = "interrupts"};
static const struct report_needs timer_needs = {.events = "kvm_timer_irq",
						.record_for = "interrupts"};

static int interrupts_open(struct result *r)
{
	r->state = interrupts_new();
	return r->state ? 0 : fail(-ENOMEM, "out of memory");
}

static int interrupts_feed(void *state, const struct event *ev)
{
	return interrupts_event(state, ev);
}

static bool vcpu_selected(void *arg, uint16_t vcpu)
{
	return number_selected(arg, vcpu);
}

static int interrupts_write(struct result *result, const struct output *out)
{
	const struct interrupts_query *q = result->query->of;
	bool timers = q && q->timers;
	struct interrupt_report r = {.interrupts = result->state,
				     .vms = result_vms(result),
				     .selects = vcpu_selected,
				     .arg = (void *)&result->query->input->vcpus};
	struct report report = result_report(result, out);
	struct table t = {0};
	int err = timers ? interrupt_report_timers(&r, &t) : interrupt_report_vectors(&r, &t);

	if (timers)
		report.needs = &timer_needs;
	report.caveats = interrupt_report_caveats(&r);
	event_notes_add(report.caveats, NOTE_INTERRUPTS, result->in);
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	return err;
}

static void interrupts_close(struct result *r)
{
	interrupts_free(r->state);
}

const struct report_ops interrupts_report = {
	.where_rows = true,
	.reads = READ_ALL_VCPUS,
	.wants = interrupts_wants,
	.needs = &vector_needs,
	.open = interrupts_open,
	.event = interrupts_feed,
	.write = interrupts_write,
	.close = interrupts_close,
};
