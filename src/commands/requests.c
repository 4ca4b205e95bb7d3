// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace requests: a guest's block requests, each with what the host saw of it. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static bool stages, waterfall;
static uint64_t min_ns;

/* clang-format off */
static const struct option_row path_options[] = {
	{0, "stages",      OPT_FLAG,     &stages,    NULL, "print the stages of all requests, and what was waited for in each"},
	{0, "waterfall",   OPT_FLAG,     &waterfall, NULL, "print the slowest requests, each with its stages"},
	{0, "min-latency", OPT_DURATION, &min_ns,    "T",  "with these: only requests that took at least so long"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   path_options, NULL};

static bool path_is_filtered(void)
{
	return input_given.vcpus.nr || input_given.tids.nr || input_given.globs.nr ||
	       input_given.reasons.nr;
}

static int cmd_requests(int argc, char **argv)
{
	struct path_query q = {.waterfall = waterfall, .min_ns = min_ns};

	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	if ((stages || waterfall) && path_is_filtered())
		return command_usage("--stages and --waterfall need the events of all threads: "
				     "they cannot be used with --vcpu, --tid, --event or --reason");
	if (!stages && !waterfall)
		return query_run(&requests_report, &(struct query){0}, table_formats, false);
	return query_run(&path_report, &(struct query){.of = &q},
			 waterfall ? "text json csv svg" : "text json csv", false);
}

const struct command requests_command = {
	.name = "requests",
	.args = "[FILE...]",
	.summary = "Follow a guest's block requests from issue to completion.",
	.group = "Report",
	.details =
		"submit: from the guest's issue to the device's pop; device: from the pop until "
		"the\n"
		"element was returned; finish: from there until the guest completed the request.\n"
		"--stages, --waterfall: the whole path, from the guest's kick over QEMU's threads "
		"and\n"
		"the host's disk to the interrupt; without the guest's trace as well. Recorded by\n"
		"hostrace record --for requests.",
	.examples = "  hostrace requests vm.hrt --guest guest.dat --sort total --limit 10\n"
		    "  hostrace requests vm.hrt --guest guest.dat -f json | jq .totals\n"
		    "  hostrace requests vm.hrt --waterfall --limit 3\n"
		    "  hostrace requests vm.hrt --waterfall -f svg -o slowest.svg",
	.options = options,
	.rules = (const struct option_rule[]){{"sort", .unless = "stages waterfall"},
					     {"where", .unless = "stages waterfall"},
					      {"stages", .unless = "waterfall"},
					      {"min-latency", .with = "stages waterfall"},
					      {0}},
	.run = cmd_requests,
};
