// SPDX-License-Identifier: GPL-2.0-or-later
/* The options of all views, and the report that they ask for (reports/spans.c). */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/view_run.h"
#include "reports/reports.h"

static uint64_t jobs;
static const char *link_to;

/* clang-format off */
const struct option_row link_options[] = {
	{0, "link", OPT_TEXT, &link_to, "FILE", "each column of the picture is a link to its time window in this page of 'hostrace report'"},
	{0},
};
/* clang-format on */

const struct option_row view_options[] = {
	{'j', "jobs", OPT_U64, &jobs, "N", "use N threads (default: one per CPU)"},
	{0},
};

int view_run(const struct view *view, const char *analyzer, const char *by)
{
	struct spans_query q = {.view = view,
				.analyzer = analyzer,
				.by = by,
				.link = link_to,
				.sort = output_sort(),
				.limit = output_limit(),
				.jobs = (unsigned int)(jobs < 1024 ? jobs : 1024)};

	input_given.allow_ticks = output_is("text") || output_is("json") || output_is("csv");
	return query_run(&spans_report, &(struct query){.of = &q}, view->formats, false);
}
