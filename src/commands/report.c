// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace report: one page of all reports (reports/page.h). */
#include <errno.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/sample_run.h"
#include "commands/common/symbol_options.h"
#include "input/baseline.h"
#include "output/report/page.h"
#include "reports/diff.h"
#include "reports/page.h"

static const char *baseline;

/* clang-format off */
static const struct option_row report_options[] = {
	{0, "baseline", OPT_TEXT, &baseline, "NAME", "also show what differs from the runs of this baseline"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_file_options, symbols_options,
						   report_options, NULL};

static bool wants_none(const char *event, void *arg)
{
	(void)event, (void)arg;
	return false;
}

/*
 * A companion that cannot be merged is tried once, and not by each report: *ret_notes. What else is wrong with the
 * inputs, the reports say; but --clock needs a guest's trace. *ret: the inputs with those companions that can be
 * merged.
 */
static int companions_try(struct input_set **ret, json_t *notes)
{
	bool quiet = common.quiet;
	int err;

	common.quiet = true; /* of what is merged */
	err = input_make(true, ret);
	common.quiet = quiet;
	if (err)
		return err;
	if ((*ret)->nr_companions)
		input_set_open(*ret, wants_none, NULL);
	for (unsigned int i = 0; i < (*ret)->nr_left_out; i++)
		caveat_add(notes, "guest trace %s is left out", (*ret)->left_out[i]);
	return 0;
}

/* ---- --baseline ---- */

/* The baseline's recordings, and then the page's: the query of a `diff`. */
static int runs_collect(struct input_options *all, struct diff_query *q)
{
	unsigned int run[BASELINE_RUNS_MAX], nr = input_given.files.nr;
	unsigned int runs = baseline_runs(baseline, run);
	char path[PATH_MAX];

	if (!runs)
		return fail_usage(-ENOENT,
				  "no baseline '%.80s'; 'hostrace baseline list' shows those "
				  "there are",
				  baseline);
	if (runs + nr > OPTION_LIST_MAX || nr > COMPARE_RUNS_MAX)
		return fail_usage(-E2BIG, "too many inputs for a comparison");
	*all = input_given;
	all->files.nr = 0;
	for (unsigned int i = 0; i < runs; i++) {
		int err = baseline_run(baseline, run[i], path);

		if (err)
			return err;
		all->files.item[all->files.nr++] = strdup(path); /* until the process ends */
	}
	for (unsigned int i = 0; i < nr; i++)
		all->files.item[all->files.nr++] = input_given.files.item[i];
	*q = (struct diff_query){.command = "diff",
				 .input = all,
				 .side = {{baseline, 0, runs, .whole = true}, {NULL, runs, nr}},
				 .nr_sides = 2,
				 .margin = 0.05,
				 .min_share = 0.001,
				 .note = command_note};
	return 0;
}

/* What makes the same comparison; of a time window only `report` does. */
static json_t *comparison_command(void)
{
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "hostrace diff %s vs", baseline);
	for (unsigned int i = 0; i < input_given.files.nr; i++)
		fprintf(f, " %s", input_given.files.item[i]);
	return fclose(f) ? NULL : json_text(text);
}

/* *ret: the section of the page. */
static int baseline_compare(const struct diff_query *q, json_t **ret)
{
	struct diff *d = NULL;
	json_t *data = NULL;
	int err = diff_run(q, &d);

	if (!err)
		err = diff_tree(d, &data);
	diff_close(d);
	if (!err && input_options_have_window(&input_given))
		caveat_add(json_object_get(data, "caveats"),
			   "the baseline's runs are compared whole, with the page's time window");
	*ret = err ? NULL
		   : json_pack("{s:o, s:o}", "command", comparison_command(), "data", data);
	return err;
}

/* The process may read the baseline's recordings, too. */
static int baseline_confine(struct input_options *all, struct diff_query *q)
{
	struct text_list files = input_given.files;
	int err = baseline ? runs_collect(all, q) : 0;

	if (err)
		return err;
	if (baseline)
		input_given.files = all->files;
	err = command_confine(output_file());
	input_given.files = files;
	return err;
}

static int page_put(const struct output *out, bool *lost)
{
	_cleanup_(addresses_cleanup_) struct addresses *symbols = NULL;
	_cleanup_input_set_ struct input_set *plain = NULL, *merged = NULL;
	json_auto_t *page = NULL, *notes = json_array(), *compared = NULL;
	struct input_options all;
	struct diff_query diff;
	struct page_query q = {.input = &input_given,
			       .frames = frames_given(),
			       .notes = notes};
	int err = baseline_confine(&all, &diff);

	if (!err && baseline)
		err = baseline_compare(&diff, &compared);
	q.baseline = compared;
	if (!err)
		err = addresses_given(&symbols);
	if (!err)
		err = companions_try(&merged, notes);
	if (!err)
		err = input_set_new(&input_given, &plain);
	q.symbols = symbols;
	q.plain = plain;
	q.merged = merged;
	if (!err)
		err = page_make(&q, &page, lost);
	*lost |= json_array_size(notes);
	if (err)
		return err;
	return !strcmp(out->format, "json") ? page_write_json(page, out->file)
					    : page_write(page, out->file);
}

static int cmd_report(int argc, char **argv)
{
	struct output out;

	output_default("html");
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (!input_given.files.nr)
		input_add_file(INPUT_DEFAULT);
	if (!output_file() && !output_is("json") && isatty(STDOUT_FILENO))
		return command_usage("missing file; name the page with -o FILE.html");
	if (output_open("html json", &out))
		return command_failed();
	bool lost = false;
	input_given.allow_ticks = true; /* for the error message of the page */
	int err = page_put(&out, &lost);

	return output_end(err, &out, input_given.strict && lost);
}

const struct command report_command = {
	.name = "report",
	.args = "[FILE...]",
	.summary = "Write one HTML page of all reports, to look at and to send.",
	.group = "Report",
	.details = "The page is one file without links to others: it needs no network and stays "
		   "below\n"
		   "5 MB, also for long recordings. -f json writes its data.",
	.examples = "  hostrace report -i vm.hrt -o report.html\n"
		    "  hostrace report vm.hrt --baseline good -o report.html\n"
		    "  hostrace report vm.hrt --since 1s --period 5s -o moment.html",
	.options = options,
	.unused = "limit wide",
	.run = cmd_report,
};
