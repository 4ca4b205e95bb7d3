// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace info: what a trace holds (output/info_report.h). */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static const struct option_row *const options[] = {input_rows, output_options, NULL};

const struct command info_command = {
	.name = "info",
	.args = "[FILE...]",
	.summary = "Describe a trace: VMs, events, losses, clocks, probes.",
	.group = "Report",
	.examples = "  hostrace info vm.hrt\n"
		    "  hostrace info vm.hrt -f json | jq .result.events",
	.options = options,
	.unused = "limit sort",
	.run = report_command_run,
	.report = &info_report,
	.formats = "text json",
	.ticks = true,
};
