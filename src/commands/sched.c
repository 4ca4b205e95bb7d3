// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace sched: CPU time, time without a CPU, sleep of each thread of a VM. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static const char *by;
static struct sched_query query;

/* clang-format off */
static const struct option_row sched_options[] = {
	{0, "by",    OPT_TEXT, &by,    "KEY[,KEY]",  "tid: one row per thread, not per name of threads; task: per thread and task that ran while the thread waited for a CPU; handler: per event loop and function that it called"},
	{0, "loops", OPT_FLAG, &query.loops, NULL,   "event loops: main loop and iothreads"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   sched_options, NULL};

static int key_parse(const char *key)
{
	bool *flag = !strcmp(key, "tid")       ? &query.by_tid
		     : !strcmp(key, "task")    ? &query.by_task
		     : !strcmp(key, "handler") ? &query.by_handler
					       : NULL;

	if (!flag)
		return fail(-EINVAL, "unknown key '%s' (supported: tid, task, handler)", key);
	*flag = true;
	return 0;
}

static int sched_check(void)
{
	_cleanup_free_ char *keys = by ? strdup(by) : NULL;
	char *save = NULL;

	query.by_tid = query.by_task = query.by_handler = false; /* of an earlier run */
	if (by && query.loops)
		return fail(-EINVAL, "--by and --loops exclude each other");
	if (by && !keys)
		return fail(-ENOMEM, "out of memory");
	for (char *key = keys ? strtok_r(keys, ",", &save) : NULL; key;
	     key = strtok_r(NULL, ",", &save))
		if (key_parse(key))
			return -EINVAL;
	if (query.by_handler && (query.by_task || query.by_tid))
		return fail(-EINVAL, "--by handler cannot be combined with another key");
	return 0;
}

const struct command sched_command = {
	.name = "sched",
	.args = "[FILE...]",
	.summary = "Show how long threads ran, waited for a CPU (steal), slept.",
	.group = "Report",
	.details = "Time ready without a CPU is what the guest sees as steal. With --loops: how\n"
		   "busy QEMU's main loop and iothreads are, and how late they handle events.\n"
		   "Recorded by hostrace record --for sched.",
	.examples = "  hostrace sched -i vm.hrt\n"
		    "  hostrace sched -i vm.hrt --by tid\n"
		    "  hostrace sched -i vm.hrt --by task --vcpu 0\n"
		    "  hostrace sched -i vm.hrt --loops\n"
		    "  hostrace sched -i vm.hrt --by handler",
	.options = options,
	.check = sched_check,
	.run = report_command_run,
	.report = &sched_report,
	.query = &query,
	.formats = table_formats,
};
