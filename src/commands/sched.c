// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace sched: CPU time, time without a CPU, sleep of each thread of a VM. */
#include <errno.h>
#include <string.h>

#include "analyzers/sched/sched.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "output/report.h"
#include "output/sched_report.h"

static const char *by;
static bool loops;

/* clang-format off */
static const struct option_row sched_options[] = {
	{0, "by",    OPT_TEXT, &by,    "KEY",  "task: one row per thread and task that ran while the thread waited for a CPU; handler: per event loop and function that it called"},
	{0, "loops", OPT_FLAG, &loops, NULL,   "event loops: main loop and iothreads"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_options, sched_options, NULL};

static const struct report_needs needs = {.events = "sched_switch",
					  .record = "hostrace record --for sched"};

static const struct report_needs handler_needs = {.events = "sched_stack",
						  .record = "hostrace record --for sched"};

static bool number_selected(const struct number_list *l, uint32_t value)
{
	for (unsigned int i = 0; i < l->nr; i++)
		if (l->item[i] == value)
			return true;
	return !l->nr;
}

/* --vcpu and --tid select rows, not events: those of other threads show who ran instead. */
static bool thread_selected(void *arg, const struct sched_thread *t)
{
	const struct input_options *given = arg;

	return number_selected(&given->vcpus, t->vcpu) && number_selected(&given->tids, t->tid);
}

static int open_unfiltered(struct input_set **ret)
{
	struct input_options given = input_given;
	int err;

	input_given.vcpus.nr = input_given.tids.nr = 0;
	err = input_open(false, sched_wants, NULL, ret);
	input_given = given;
	return err;
}

static int draw(struct sched *s, const struct input_set *in, const struct output *out)
{
	struct sched_report r = {.sched = s,
				 .vms = input_set_nr_vms(in) > 1 || sched_nr_vms(s) > 1 ? in->vms
											: NULL,
				 .foreign = input_set_foreign(in),
				 .ran_recorded = input_set_recorded(in, "sched_ran"),
				 .vms_only = !input_given.tids.nr,
				 .selects = thread_selected,
				 .arg = &input_given};
	struct report report = report_of(in, out);
	struct table t = {0};
	bool handlers = by && !strcmp(by, "handler");
	char first[96];
	int err = loops ? sched_report_loops(&r, &t)
		  : handlers ? sched_report_handlers(&r, &t)
		  : by	? sched_report_takers(&r, &t)
			: sched_report_threads(&r, &t);

	report.needs = handlers ? &handler_needs : &needs;
	report.caveats = sched_report_caveats(&r);
	report.first_line =
		loops || handlers ? NULL : sched_report_first_line(&r, first, sizeof(first));
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	return err;
}

static int handle(void *arg, const struct event *ev)
{
	return sched_event(arg, ev);
}

static int analyze(struct input_set **in, struct output *out)
{
	_cleanup_(sched_cleanup_) struct sched *s = NULL;
	int err = open_unfiltered(in);

	if (err)
		return err;
	s = sched_new(input_set_host_start_ns(*in));
	if (!s)
		return fail(-ENOMEM, "out of memory");
	if (input_set_foreign(*in))
		sched_set_foreign(s);
	err = reader_each((*in)->reader, handle, s);
	if (!err)
		err = sched_end(s, input_set_host_end_ns(*in));
	return err ? err : draw(s, *in, out);
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct output out;
	int err;

	(void)rest;
	if (by && strcmp(by, "task") && strcmp(by, "handler"))
		return command_usage("unknown key '%s' (supported: task, handler)", by);
	if (by && loops)
		return command_usage("--by and --loops exclude each other");
	if (input_add_args(argc, argv, OPTION_LIST_MAX) || output_open(table_formats, &out))
		return command_failed();
	err = analyze(&in, &out);
	return report_end(err, &out, in, false);
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
		    "  hostrace sched -i vm.hrt --by task --vcpu 0\n"
		    "  hostrace sched -i vm.hrt --loops\n"
		    "  hostrace sched -i vm.hrt --by handler",
	.options = options,
	.run = run,
};
