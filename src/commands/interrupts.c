// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace interrupts: the interrupts of each vCPU by vector, and how late its timer is. */
#include <errno.h>

#include "analyzers/interrupts/interrupts.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "output/interrupt_report.h"
#include "output/report.h"

static bool timers;

/* clang-format off */
static const struct option_row interrupt_options[] = {
	{0, "timers", OPT_FLAG, &timers, NULL, "how late each vCPU's local APIC timer is"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_options, interrupt_options,
						   NULL};

static const struct report_needs needs = {.events = "kvm_apic_accept_irq,kvm_inj_virq,kvm_eoi",
					  .record = "hostrace record --for interrupts"};
static const struct report_needs timer_needs = {.events = "kvm_timer_irq",
						.record = "hostrace record --for interrupts"};

/* --vcpu selects rows: an interrupt is raised by other threads. */
static bool vcpu_selected(void *arg, uint16_t vcpu)
{
	const struct number_list *l = arg;

	for (unsigned int i = 0; i < l->nr; i++)
		if (l->item[i] == vcpu)
			return true;
	return !l->nr;
}

static int open_unfiltered(struct input_set **ret)
{
	struct input_options given = input_given;
	int err;

	input_given.vcpus.nr = 0;
	err = input_open(false, interrupts_wants, NULL, ret);
	input_given = given;
	return err;
}

static int draw(const struct interrupts *x, const struct input_set *in, const struct output *out)
{
	struct interrupt_report r = {.interrupts = x,
				     .vms = input_set_nr_vms(in) > 1 ? in->vms : NULL,
				     .selects = vcpu_selected,
				     .arg = &input_given.vcpus};
	struct report report = report_of(in, out);
	struct table t = {0};
	int err = timers ? interrupt_report_timers(&r, &t) : interrupt_report_vectors(&r, &t);

	report.needs = timers ? &timer_needs : &needs;
	report.caveats = interrupt_report_caveats(&r);
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	return err;
}

static int handle(void *arg, const struct event *ev)
{
	return interrupts_event(arg, ev);
}

static int analyze(struct input_set **in, struct output *out)
{
	_cleanup_(interrupts_cleanup_) struct interrupts *x = interrupts_new();
	int err = x ? open_unfiltered(in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = reader_each((*in)->reader, handle, x);
	return err ? err : draw(x, *in, out);
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct output out;
	int err;

	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX) || output_open(table_formats, &out))
		return command_failed();
	err = analyze(&in, &out);
	return report_end(err, &out, in, false);
}

const struct command interrupts_command = {
	.name = "interrupts",
	.args = "[FILE...]",
	.summary = "Show each vCPU's interrupts by vector: latency, coalescing.",
	.group = "Report",
	.details = "From the local APIC to the injection, from there to the EOI. With --timers:\n"
		   "from the deadline that the guest set to the interrupt, and to the VM-entry\n"
		   "after it.\n"
		   "Recorded by hostrace record --for interrupts.",
	.examples = "  hostrace interrupts -i vm.hrt\n  hostrace interrupts -i vm.hrt --vcpu 0\n"
		    "  hostrace interrupts -i vm.hrt --timers",
	.options = options,
	.run = run,
};
