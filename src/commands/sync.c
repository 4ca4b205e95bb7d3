// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace sync: how the clocks of host and guests are related, and whether that is right. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static bool check;

/* clang-format off */
static const struct option_row sync_options[] = {
	{0, "check", OPT_FLAG, &check, NULL, "exit with status 3 if a guest event lies outside guest mode"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_options, sync_options, NULL};

const struct command sync_command = {
	.name = "sync",
	.args = "[FILE...]",
	.summary = "Show how guest and host clocks are related, and verify it.",
	.group = "Report",
	.details = "guest TSC = host TSC * scale + offset. The error is the bound of every "
		   "converted timestamp.\nThe check counts guest events that lie outside guest "
		   "mode of their vCPU by more than that\nbound.",
	.examples = "  hostrace sync -i vm.hrt --guest guest.dat\n"
		    "  hostrace sync -i vm.hrt --guest guest.dat --clock fit -f json\n"
		    "  hostrace sync -i vm.hrt --guest guest.dat --check",
	.options = options,
	.unused = "since until period event reason limit sort",
	.run = report_command_run,
	.report = &sync_report,
	.formats = "text json",
	.exit_found = &check,
	.ticks = true,
};
