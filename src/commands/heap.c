// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace heap: what the VMM allocated and did not free, by call stack. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static struct {
	const char *by;
	bool mismatches;
} opt;

/* clang-format off */
static const struct option_row heap_options[] = {
	{0, "by",         OPT_TEXT, &opt.by,         "stack|function", "one row per call stack and function (default), or per function"},
	{0, "mismatches", OPT_FLAG, &opt.mismatches, NULL,             "what was allocated with one function and freed with another that does not belong to it"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   heap_options, NULL};

static int cmd_heap(int argc, char **argv)
{
	bool stacks = output_is("folded") || output_is("flame") || output_is("pprof");
	struct heap_query q = {.mismatches = opt.mismatches};

	if (opt.by && strcmp(opt.by, "stack") && strcmp(opt.by, "function"))
		return command_usage("invalid --by '%s' (expected stack or function)", opt.by);
	q.by_function = opt.by && !strcmp(opt.by, "function");
	if (opt.mismatches && (opt.by || stacks))
		return command_usage("--mismatches cannot be combined with --by or a flame graph");
	if (q.by_function && stacks)
		return command_usage("--by function has no call stacks to draw");
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	return query_run(&heap_report, &(struct query){.of = &q},
			 "text json csv folded flame pprof", false);
}

extern const struct command heap_command;

const struct command heap_command = {
	.name = "heap",
	.args = "[FILE...]",
	.summary = "Show what the VMM allocated and did not free, by call stack.",
	.group = "Report",
	.details = "What is live at the end of the recording, and how much it has grown since its\n"
		   "middle (or --since). --mismatches: what was allocated with one function and\n"
		   "freed with another. -f flame: a flame graph of what is not freed.\n"
		   "Recorded by hostrace record --for heap.",
	.examples = "  hostrace record --vm web1 --for heap -d 1m -o heap.hrt\n"
		    "  hostrace heap heap.hrt --sort grown_bytes\n"
		    "  hostrace heap heap.hrt --mismatches\n"
		    "  hostrace heap heap.hrt -f flame -o heap.svg",
	.options = options,
	.rules = (const struct option_rule[]){{"where", .formats = "text json csv"}, {0}},
	.run = cmd_heap,
};
