// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace leaks: virtqueue elements that were popped and never returned. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static struct leaks_query query = {.min_age_ns = LEAKS_MIN_AGE_NS};
static bool check;

/* clang-format off */
static const struct option_row leak_options[] = {
	{0, "min-age", OPT_DURATION, &query.min_age_ns, "TIME", "elements younger than this are in flight, not leaked (default 1s)"},
	{0, "check",   OPT_FLAG,     &check,      NULL,   "exit with status 3 if an element leaked"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   leak_options, NULL};

const struct command leaks_command = {
	.name = "leaks",
	.args = "[FILE...]",
	.summary = "Find virtqueue elements that were popped and never returned.",
	.group = "Report",
	.details = "Verdicts: leaked (older than --min-age at the end of the trace), in-flight\n"
		   "(younger), held (kept by design), broken device (QEMU stopped the device after "
		   "an\n"
		   "error), migrated, not visible (vhost), unknown (events were lost).",
	.examples = "  hostrace leaks -i vm.hrt\n  hostrace leaks vm.hrt --min-age 100ms --check",
	.options = options,
	.run = report_command_run,
	.report = &leaks_report,
	.query = &query,
	.formats = table_formats,
	.exit_found = &check,
	.order = true,
	.rules = (const struct option_rule[]){{"where", .unless = "check"}, {0}},
};
