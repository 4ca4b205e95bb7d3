// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace faults: faults of guest RAM by what backed them. */
#include <errno.h>
#include <string.h>

#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static const char *by;

static const char *const faults_by_names[] = {
	[FAULTS_BY_CAUSE] = "cause",
	[FAULTS_BY_VCPU] = "vcpu",
	[FAULTS_BY_SLOT] = "slot",
	[FAULTS_BY_VMA] = "vma",
};

/* clang-format off */
static const struct option_row own_options[] = {
	{0, "by", OPT_TEXT, &by, "cause|vcpu|slot|vma", "one row per cause (default), or per vCPU, memory slot or mapping and cause"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   own_options, NULL};

static int by_parse(enum faults_by *ret)
{
	size_t nr = sizeof(faults_by_names) / sizeof(*faults_by_names), i = 0;

	while (i < nr && by && strcmp(by, faults_by_names[i]) != 0)
		i++;
	*ret = (enum faults_by)i;
	return i == nr ? -EINVAL : 0;
}

static int cmd_faults(int argc, char **argv)
{
	struct faults_query q = {0};

	if (by_parse(&q.by))
		return command_usage("invalid --by '%s' (expected cause, vcpu, slot or vma)", by);
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	return query_run(&faults_report, &(struct query){.of = &q}, "text json csv", false);
}

extern const struct command faults_command;

const struct command faults_command = {
	.name = "faults",
	.args = "[FILE...]",
	.summary = "Show the faults of guest RAM by what backed them.",
	.group = "Report",
	.details = "Recorded by hostrace record --for faults: new, huge and zero pages, the page "
		   "cache,\n"
		   "reads from disk, userfaultfd, copies, swap. Count, time, percentiles.",
	.examples = "  hostrace record --vm web1 --for faults -d 10s -o faults.hrt\n"
		    "  hostrace faults faults.hrt\n"
		    "  hostrace faults faults.hrt --by vma --where 'cause == \"disk-read\"'\n"
		    "  hostrace faults faults.hrt --by slot --sort count --limit 10",
	.options = options,
	.run = cmd_faults,
};
