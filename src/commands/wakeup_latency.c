// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/common/sample_run.h"

static const struct report_needs needs = {
	.events = "sched_wakeup,sched_waking,sched_wake",
	.record = "trace-cmd record -e sched in a Linux guest"};

static int run(int argc, char **argv, char **rest)
{
	struct sample_line_options line = sample_line_given();
	struct time_range range;
	struct sample_run run;
	int status;

	(void)rest;
	status = sample_run_open(argc, argv, "text json", &range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	time_range_compat(&range);
	run.needs = &needs;
	return sample_run_close(
		&run, wakeups_print(run.trace, &range, &line, !no_header_given, &run.sink));
}

static const struct option_row *const options[] = {input_rows,		output_file_options,
						   compat_options,	profile_symbol_options,
						   sample_line_options, NULL};

const struct command wakeup_latency_command = {
	.name = "wakeup-latency",
	.args = "[FILE...]",
	.summary = "Show the time from waking a thread until it runs.",
	.group = "OSv guests",
	.details = "Counts only waits that end on the CPU where they began. Needs the tracepoints\n"
		   "sched_wait, sched_wait_ret and sched_wake.",
	.examples = "  hostrace wakeup-latency tracefile",
	.options = options,
	.unused = "wide",
	.rules = (const struct option_rule[]){{"no-header", .formats = "text"}, {0}},
	.check = backtrace_options_check,
	.run = run,
};
