// SPDX-License-Identifier: GPL-2.0-or-later
#include "commands/common/sample_run.h"

static int summary_close(struct sample_run *run, const struct sample_summary_options *opt)
{
	struct sample_summary summary = {0};
	int err = sample_summary_make(run->trace, opt, &summary);

	if (!err)
		summary_print(&summary, &run->sink);
	sample_summary_deinit(&summary);
	return sample_run_close(run, err);
}

/* A summary of tracepoints is one table, in the order of OSv's tool. */
static int options_check(void)
{
	return options_unused_check("by symbols no-resolve limit sort wide",
				    "on a summary of tracepoints");
}

int sample_summary_run(const char *path, bool timed)
{
	struct sample_summary_options opt = {.timed = timed, .compat = compat_given};
	struct sample_run run;
	int status;

	if (options_check())
		return command_failed();
	status = sample_run_open_file(path, "text json", &opt.range, &run);
	return status != SAMPLE_RUN_BEGUN ? status : summary_close(&run, &opt);
}

int sample_summary_timed_run(int argc, char **argv)
{
	struct sample_summary_options opt = {.timed = true};
	struct sample_run run;
	int status;

	if (options_check())
		return command_failed();
	status = sample_run_open(argc, argv, "text json", &opt.range, &run);
	return status != SAMPLE_RUN_BEGUN ? status : summary_close(&run, &opt);
}
