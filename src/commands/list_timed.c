// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/error.h"
#include "commands/common/sample_run.h"

static const char *sort_by;

/* clang-format off */
static const struct option_row sort_options[] = {
	{0, "sort", OPT_TEXT, &sort_by, "WHAT", "sort by duration (longest first) or time (default: by end)"},
	{0},
};
/* clang-format on */

static int run(int argc, char **argv, char **rest)
{
	static const char *const sorts[] = {"none", "duration", "time", NULL};
	struct sample_line_options line = sample_line_given();
	struct pair_list_options opt = {.compat = compat_given};
	struct sample_run run;
	int sort = choice_parse("--sort", sort_by, sorts), status;

	(void)rest;
	if (sort < 0)
		return command_usage("%s", error_text());
	opt.sort = (enum pair_sort)sort;
	status = sample_run_open(argc, argv, "text json", &opt.range, &run);
	return status != SAMPLE_RUN_BEGUN
		       ? status
		       : sample_run_close(&run, pairs_print(run.trace, &opt, &line, &run.sink));
}

static const struct option_row *const options[] = {input_rows,
						   output_file_options,
						   sort_options,
						   compat_options,
						   profile_symbol_options,
						   sample_line_options,
						   NULL};

const struct command list_timed_command = {
	.name = "list-timed",
	.args = "[FILE...]",
	.summary = "List pairs of begin and end events with their durations.",
	.group = "OSv guests",
	.details = "One line per pair: time of its begin, duration in ms, and the fields of its "
		   "begin.",
	.examples = "  hostrace list-timed --sort duration --limit 10 tracefile",
	.options = options,
	.unused = "wide no-header",
	.check = backtrace_options_check,
	.run = run,
};
