// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace downtime: the times for which VMs were stopped, by phase. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static const struct option_row *const options[] = {input_rows, where_rows, output_options, NULL};

const struct command downtime_command = {
	.name = "downtime",
	.args = "[FILE...]",
	.summary = "Show how long VMs were stopped, and what the time went into.",
	.group = "Report",
	.details =
		"By stop and cont, live migration to another QEMU, snapshots, errors. Phases sum\n"
		"to the downtime: pausing the vCPUs, disks, the rest of the RAM, the devices'\n"
		"state, loading it, and until a vCPU runs. A migration is one row if both QEMUs\n"
		"are in the trace, or in two of one host.\n"
		"Recorded by hostrace record --for downtime.",
	.examples = "  hostrace record --vm source --vm target --for downtime -o moved.hrt\n"
		    "  hostrace downtime -i moved.hrt\n"
		    "  hostrace downtime -i source.hrt -i target.hrt -f json",
	.options = options,
	.run = report_command_run,
	.report = &downtime_report,
	.formats = table_formats,
};
