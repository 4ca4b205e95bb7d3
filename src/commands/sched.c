// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace sched: CPU time, time without a CPU, sleep of each thread of a VM. */
#include <string.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static const char *by;
static bool loops;

/* clang-format off */
static const struct option_row sched_options[] = {
	{0, "by",    OPT_TEXT, &by,    "KEY",  "task: one row per thread and task that ran while the thread waited for a CPU; handler: per event loop and function that it called"},
	{0, "loops", OPT_FLAG, &loops, NULL,   "event loops: main loop and iothreads"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_options, sched_options, NULL};

static int run(int argc, char **argv, char **rest)
{
	bool by_task = by && !strcmp(by, "task"), by_handler = by && !strcmp(by, "handler");
	struct sched_query q = {.loops = loops, .by_task = by_task, .by_handler = by_handler};

	(void)rest;
	if (by && !by_task && !by_handler)
		return command_usage("unknown key '%s' (supported: task, handler)", by);
	if (by && loops)
		return command_usage("--by and --loops exclude each other");
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	return query_run(&sched_report, &(struct query){.of = &q}, table_formats, false);
}

const struct command sched_command = {
	.name = "sched",
	.args = "[FILE...]",
	.summary = "Show how long threads ran, waited for a CPU (steal), slept.",
	.group = "Report",
	.details = "Time ready without a CPU is what the guest sees as steal. With --loops: how\n"
		   "busy QEMU's main loop and iothreads are, and how late they handle events.\n"
		   "Recorded by hostrace record --for sched.",
	.examples = "  hostrace sched -i vm.hrt\n"
		    "  hostrace sched -i vm.hrt --by task --vcpu 0\n"
		    "  hostrace sched -i vm.hrt --loops\n"
		    "  hostrace sched -i vm.hrt --by handler",
	.options = options,
	.run = run,
};
