// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace diff: what differs between two recordings. */
#include <errno.h>
#include <math.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "output/report.h"
#include "reports/diff.h"

static const char *by, *fail_over, *margin = "5%", *min_share = "0.1%";
static bool all;
static uint64_t jobs;

/* clang-format off */
static const struct option_row diff_options[] = {
	{0,   "by",        OPT_TEXT, &by,        "KIND[,KIND]", "compare only these: reason, cause, port, queue, stage, request, task, event"},
	{0,   "all",       OPT_FLAG, &all,       NULL,          "text: also show figures that did not change"},
	{0,   "margin",    OPT_TEXT, &margin,    "PERCENT",     "a change of up to so much is none (default 5%)"},
	{0,   "min-share", OPT_TEXT, &min_share, "PERCENT",     "a change of a latency that takes less than this share of the recording's time is none (default 0.1%)"},
	{0,   "fail-over", OPT_TEXT, &fail_over, "[+]PERCENT",  "exit with status 3 if a figure changed by more; +: only if it grew"},
	{'j', "jobs",      OPT_U64,  &jobs,      "N",           "use N threads (default: one per CPU)"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_file_options, diff_options,
						   NULL};

static int cmd_diff(int argc, char **argv)
{
	struct diff_query q = {.command = command_now->name,
			       .input = &input_given,
			       .by = by,
			       .all = all,
			       .jobs = (unsigned int)(jobs < 1024 ? jobs : 1024),
			       .note = command_note};
	bool only_up = fail_over && *fail_over == '+', found = false;
	double limit = INFINITY;
	struct diff *d = NULL;
	struct output out;

	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (input_given.files.nr != 2)
		return command_usage("expected two recordings, found %u", input_given.files.nr);
	if (percent_parse("--margin", margin, &q.margin) ||
	    percent_parse("--min-share", min_share, &q.min_share) ||
	    (fail_over && percent_parse("--fail-over", fail_over + only_up, &limit)) ||
	    diff_by_check(by))
		return command_usage("%s", error_text());
	if (output_open(table_formats, &out))
		return command_failed();
	int err = command_confine(output_file());

	if (!err)
		err = diff_run(&q, &d);
	if (!err)
		err = diff_write(d, &out);
	if (!err)
		found = diff_exceeds(d, limit, only_up) || diff_strict_failed(d);
	diff_close(d);
	return output_end(err, &out, found);
}

static const struct option_rule diff_rules[] = {
	{"clock", .with = "guest"},
	{"all", .formats = "text"},
	{"margin", .formats = "text json", .except = "fail-over"},
	{"min-share", .formats = "text json", .except = "fail-over"},
	{0},
};

const struct command diff_command = {
	.name = "diff",
	.args = "A B",
	.summary = "Compare two recordings: rates and latencies that changed.",
	.group = "Report",
	.details =
		"Compares rates and mean durations by exit reason, I/O port and virtqueue. Both\n"
		"recordings are cut into blocks of time of the same length, and the blocks of A "
		"are\n"
		"compared with those of B by a Mann-Whitney test that accounts for their\n"
		"autocorrelation, latencies also by a t-test. What changed is printed, the largest "
		"change first.\n"
		"A table that perf kvm stat, kvm_stat, perf stat or bpftrace printed can be one of "
		"them, or\nboth: its counts by exit reason or event are compared, without a test.",
	.examples = "  hostrace diff before.hrt after.hrt\n"
		    "  hostrace diff before.hrt after.hrt --by reason --fail-over +10%",
	.options = options,
	.unused = "no-guest",
	.rules = diff_rules,
	.run = cmd_diff,
};
