// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace diff: what differs between recordings, or between runs of one state and of another. */
#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "input/baseline.h"
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

/* ---- the sides: files, and baselines by name ---- */

static int file_add(struct diff_side *s, const char *path)
{
	if (s->nr == COMPARE_RUNS_MAX || input_given.files.nr == OPTION_LIST_MAX)
		return fail_usage(-E2BIG, "more than %d runs of a side, or %d recordings in all",
				  COMPARE_RUNS_MAX, OPTION_LIST_MAX);
	input_add_file(path);
	s->nr++;
	return 0;
}

static int baseline_add(struct diff_side *s, const char *name, const unsigned int *run,
			unsigned int runs)
{
	char path[PATH_MAX];
	int err = 0;

	for (unsigned int i = 0; i < runs && !err; i++) {
		err = baseline_run(name, run[i], path);
		if (!err)
			err = file_add(s, strdup(path)); /* until the process ends, as arguments are */
	}
	s->baseline = name;
	return err;
}

/* A file has priority over what has a meaning without it. */
static int operand_add(struct diff_side *s, const char *given)
{
	bool is_file = !access(given, F_OK);
	unsigned int run[BASELINE_RUNS_MAX], runs = is_file ? 0 : baseline_runs(given, run);

	if (runs)
		return baseline_add(s, given, run, runs);
	return file_add(s, !is_file && !strcmp(given, "now") ? INPUT_DEFAULT : given);
}

static bool is_between(const char *given)
{
	return !strcmp(given, "vs");
}

/* Operands up to "vs", or to the end, are one side's runs; without any "vs" each is a side. */
static int sides_make(struct diff_query *q, const struct text_list *operands)
{
	bool runs = array_any(operands->nr, i, is_between(operands->item[i]));
	struct diff_side *s = q->side;
	int err = 0;

	*s = (struct diff_side){0};
	q->nr_sides = 1;
	for (unsigned int i = 0; i < operands->nr && !err; i++) {
		bool between = is_between(operands->item[i]);

		if (between ? !s->nr : !runs && s->nr && q->nr_sides == DIFF_SIDES_MAX)
			return fail_usage(-EINVAL, between ? "no recording before 'vs'"
							   : "too many recordings");
		if (between || (!runs && s->nr))
			*(s = &q->side[q->nr_sides++]) =
				(struct diff_side){.first = input_given.files.nr};
		if (!between)
			err = operand_add(s, operands->item[i]);
	}
	/* A baseline alone is compared with what was recorded last. */
	if (!err && q->nr_sides == 1 && s->baseline) {
		q->side[q->nr_sides] = (struct diff_side){.first = input_given.files.nr};
		err = operand_add(&q->side[q->nr_sides++], "now");
	}
	return err;
}

/* The options' inputs, then the arguments. */
static int operands_split(int argc, char **argv, struct diff_query *q)
{
	struct text_list operands = input_given.files;

	input_given.files.nr = 0;
	for (int i = 0; i < argc; i++) {
		if (operands.nr == OPTION_LIST_MAX)
			return fail_usage(-E2BIG, "more than %d operands", OPTION_LIST_MAX);
		operands.item[operands.nr++] = argv[i];
	}
	int err = sides_make(q, &operands);

	if (!err && !q->side[q->nr_sides - 1].nr && q->nr_sides > 1)
		return fail_usage(-EINVAL, "no recording after 'vs'");
	if (!err && q->nr_sides < 2)
		return fail_usage(-EINVAL, "expected two recordings, found %u",
				  input_given.files.nr);
	return err ? err : input_add_args(0, NULL, 0);
}

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

	if (operands_split(argc, argv, &q))
		return command_failed();
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
	.args = "A B... | A... vs B...",
	.summary = "Compare recordings: rates and latencies that changed.",
	.group = "Report",
	.details =
		"Compares rates and mean durations by exit reason, I/O port and virtqueue. Both\n"
		"recordings are cut into blocks of time of the same length, and the blocks of A "
		"are\n"
		"compared with those of B by a Mann-Whitney test that accounts for their\n"
		"autocorrelation, latencies also by a t-test. What changed is printed, the largest "
		"change first.\n"
		"With further recordings, each is compared with A. Recordings before and after "
		"the\n"
		"word 'vs' are runs of two states: how much runs of one state differ decides what "
		"is\n"
		"significant. The name of a baseline stands for its runs, and 'now' for\n"
		"hostrace.hrt.\n"
		"A table that perf kvm stat, kvm_stat, perf stat or bpftrace printed can be one of "
		"them, or\nboth: its counts by exit reason or event are compared, without a test.",
	.examples = "  hostrace diff before.hrt after.hrt\n"
		    "  hostrace diff before.hrt after.hrt --by reason --fail-over +10%\n"
		    "  hostrace diff old-*.hrt vs new-*.hrt\n"
		    "  hostrace baseline save good good-*.hrt; hostrace diff good now",
	.options = options,
	.unused = "no-guest",
	.rules = diff_rules,
	.run = cmd_diff,
};
