// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace downtime: the times for which VMs were stopped, by phase. */
#include <errno.h>

#include "analyzers/downtime/downtime.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "output/downtime_report.h"
#include "output/report.h"

static const struct option_row *const options[] = {input_rows, output_options, NULL};

static const struct report_needs needs = {.events = "vm_state",
					  .record = "hostrace record --for downtime"};

static int draw(const struct downtime *d, const struct input_set *in, const struct output *out)
{
	struct downtime_report r = {.downtime = d,
				    .vms = in->vms,
				    .start_ns = in->reader->info.start_ns};
	struct report report = report_of(in, out);
	struct table t = {0};
	int err = downtime_report_rows(&r, &t);

	report.needs = &needs;
	report.caveats = downtime_report_caveats(&r);
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	return err;
}

static int handle(void *arg, const struct event *ev)
{
	return downtime_event(arg, ev);
}

static int analyze(struct input_set **in, const struct output *out)
{
	_cleanup_(downtime_cleanup_) struct downtime *d = downtime_new();
	int err = d ? input_open(false, downtime_wants, NULL, in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = reader_each((*in)->reader, handle, d);
	return err ? err : draw(d, *in, out);
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct output out;
	int err;

	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX) || output_open(table_formats, &out))
		return command_failed();
	err = analyze(&in, &out);
	return report_end(err, &out, in, false);
}

const struct command downtime_command = {
	.name = "downtime",
	.args = "[FILE...]",
	.summary = "Show how long VMs were stopped, and what the time went into.",
	.group = "Report",
	.details =
		"By stop and cont, live migration to another QEMU, snapshots, errors. Phases sum\n"
		"to the downtime: pausing the vCPUs, disks, the rest of the RAM, the devices'\n"
		"state, loading it, and until a vCPU runs. A migration is one row if both QEMUs\n"
		"are in the trace, or in two of one host.\n"
		"Recorded by hostrace record --for downtime.",
	.examples = "  hostrace record --vm source --vm target --for downtime -o moved.hrt\n"
		    "  hostrace downtime -i moved.hrt\n"
		    "  hostrace downtime -i source.hrt -i target.hrt -f json",
	.options = options,
	.run = run,
};
