// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace syscalls: system calls of a VM's threads. */
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static const char *by;

/* clang-format off */
static const struct option_row own_options[] = {
	{0, "by", OPT_TEXT, &by, "name|tid", "one row per system call (default), or per thread and system call"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   own_options, NULL};

static int cmd_syscalls(int argc, char **argv)
{
	struct syscalls_query q = {.by_tid = by && !strcmp(by, "tid")};

	if (by && !q.by_tid && strcmp(by, "name") != 0)
		return command_usage("invalid --by '%s' (expected name or tid)", by);
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	return query_run(&syscalls_report, &(struct query){.of = &q}, "text json csv", false);
}

extern const struct command syscalls_command;

const struct command syscalls_command = {
	.name = "syscalls",
	.args = "[FILE...]",
	.summary = "Show the system calls of a VM's threads: count, time, errors.",
	.group = "Report",
	.details = "Recorded by hostrace record --for syscalls, or with sys_enter and sys_exit by "
		   "perf\n"
		   "or trace-cmd. KVM_RUN is apart from other ioctls, as its time is the guest's.",
	.examples = "  hostrace record --vm web1 --for syscalls -d 10s -o calls.hrt\n"
		    "  hostrace syscalls calls.hrt\n"
		    "  hostrace syscalls calls.hrt --by tid --where 'errors > 0'\n"
		    "  hostrace syscalls calls.hrt --sort count --limit 10",
	.options = options,
	.run = cmd_syscalls,
};
