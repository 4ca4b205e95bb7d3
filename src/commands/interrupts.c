// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace interrupts: the interrupts of each vCPU by vector, and how late its timer is. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static struct interrupts_query query;

/* clang-format off */
static const struct option_row interrupt_options[] = {
	{0, "timers", OPT_FLAG, &query.timers, NULL, "how late each vCPU's local APIC timer is"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   interrupt_options, NULL};

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
	.run = report_command_run,
	.report = &interrupts_report,
	.query = &query,
	.formats = table_formats,
};
