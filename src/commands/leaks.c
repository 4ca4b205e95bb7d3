// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace leaks: virtqueue elements that were popped and never returned. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static uint64_t min_age_ns = LEAKS_MIN_AGE_NS;
static bool check;

/* clang-format off */
static const struct option_row leak_options[] = {
	{0, "min-age", OPT_DURATION, &min_age_ns, "TIME", "elements younger than this are in flight, not leaked (default 1s)"},
	{0, "check",   OPT_FLAG,     &check,      NULL,   "exit with status 3 if an element leaked"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_options, leak_options, NULL};

static int run(int argc, char **argv, char **rest)
{
	struct leaks_query q = {.min_age_ns = min_age_ns};

	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	return query_run(&leaks_report, &(struct query){.of = &q}, table_formats, check);
}

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
	.run = run,
};
