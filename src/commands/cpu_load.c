// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "commands/common/sample_run.h"

static uint64_t cpus;

/* clang-format off */
static const struct option_row cpu_options[] = {
	{'c', "cpus", OPT_U64, &cpus, "N", "print rows only after all N CPUs were seen"},
	{0},
};
/* clang-format on */

static const struct report_needs needs = {
	.events = "sched_switch,sched_load",
	.record = "trace-cmd record -e sched in a Linux guest"};

static int run(int argc, char **argv, char **rest)
{
	struct cpu_load_options opt = {.cpus = cpus};
	struct sample_run run;
	int status;

	(void)rest;
	status = sample_run_open(argc, argv, "text csv json", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	time_range_compat(&opt.range);
	run.needs = &needs;
	return sample_run_close(
		&run, cpu_loads_print(run.trace, &opt, !strcmp(run.out.format, "csv"), &run.sink));
}

static const struct option_row *const options[] = {input_rows,
						   output_file_options,
						   cpu_options,
						   compat_options,
						   profile_symbol_options,
						   sample_line_options,
						   NULL};

const struct command cpu_load_command = {
	.name = "cpu-load",
	.args = "[FILE...]",
	.summary = "Show the length of the run queues over time, by CPU.",
	.group = "OSv guests",
	.details = "Needs the tracepoint sched_load.",
	.examples = "  hostrace cpu-load -f csv tracefile",
	.options = options,
	.unused = "wide backtrace multiline no-header debug exe symbols no-resolve no-inlined-by "
		  "show-line-number show-address show-file-name use-symbols-file",
	.run = run,
};
