// SPDX-License-Identifier: GPL-2.0-or-later
/* Who did what when, host and guest on one clock; or the spans of an analyzer, one after the other.
 */

#include "analyzers/timeline/timeline.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/view_run.h"
#include "pairing/analyzer.h"
#include "reports/reports.h"

extern const struct view timeline_view;

static const char *by;

/* clang-format off */
static const struct option_row timeline_options[] = {
	{0, "by", OPT_TEXT, &by, "KEY[,KEY]", "with an analyzer: one track per value of these keys"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_file_options,
						   timeline_options, NULL};

static int cmd_timeline(int argc, char **argv)
{
	if (argc && (!strncmp(argv[0], "pair:", 5) || analyzer_find(argv[0], NULL))) {
		if (input_add_args(argc - 1, argv + 1, OPTION_LIST_MAX))
			return command_usage("%s", error_text());
		return view_run(&timeline_view, argv[0], by);
	}
	if (by || input_given.where)
		return command_usage("--%s requires an analyzer", by ? "by" : "where");
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	return query_run(&timeline_report, &(struct query){0}, timeline_formats, false);
}

const struct command timeline_command = {
	.name = "timeline",
	.args = "[ANALYZER] [FILE...]",
	.summary = "Show threads, vCPUs, requests and guest tasks as tracks.",
	.group = "Report",
	.details =
		"-f perfetto writes a file for ui.perfetto.dev, -f chrome one for "
		"chrome://tracing;\n"
		"-f svg and -f html write a picture to zoom in with a browser. With an analyzer,\n"
		"its spans are the tracks.",
	.examples = "  hostrace timeline vm.hrt --guest guest.dat -f perfetto -o vm.pftrace\n"
		    "  hostrace timeline vm.hrt --since 1s --period 2ms -f svg -o moment.svg\n"
		    "  hostrace timeline exit-latency vm.hrt --by vcpu",
	.options = options,
	.rules = (const struct option_rule[]){{"limit", .formats = "text csv json"}, {0}},
	.run = cmd_timeline,
};
