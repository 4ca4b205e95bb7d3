// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace requests: a guest's block requests, each with what the host saw of it. */
#include <errno.h>
#include <inttypes.h>

#include "analyzers/virtqueue/requests.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/requests_read.h"
#include "commands/requests_path.h"
#include "event/vm_names.h"
#include "output/path_report.h"
#include "output/report.h"

static bool stages, waterfall;
static uint64_t min_ns;

/* clang-format off */
static const struct option_row path_options[] = {
	{0, "stages",      OPT_FLAG,     &stages,    NULL, "print the stages of all requests, and what was waited for in each"},
	{0, "waterfall",   OPT_FLAG,     &waterfall, NULL, "print the slowest requests, each with its stages"},
	{0, "min-latency", OPT_DURATION, &min_ns,    "T",  "with these: only requests that took at least so long"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_options, path_options, NULL};

/* ---- totals and notes ---- */

static json_t *totals_json(const struct request_totals *n)
{
	return json_pack("{s:{s:I, s:I, s:I, s:I, s:{s:I, s:I, s:I}}}", "totals", "requests",
			 (json_int_t)n->requests, "matched", (json_int_t)n->matched, "elements",
			 (json_int_t)n->elements, "open", (json_int_t)n->open, "without", "disk",
			 (json_int_t)n->without_disk, "element", (json_int_t)n->without_element,
			 "taken", (json_int_t)n->without_taken);
}

static void caveat_without(json_t *list, uint64_t nr, const char *why)
{
	if (nr)
		caveat_add(list, "%" PRIu64 " requests without an element: %s", nr, why);
}

static json_t *caveats_make(const struct input_set *in, const struct request_totals *n)
{
	json_t *list = json_array();

	if (!in->nr_guests)
		caveat_add(list, "requests are in the guest's own trace; name it with --guest");
	if (n->open)
		caveat_add(list, "%" PRIu64 " requests began before or ended after the recording",
			   n->open);
	caveat_without(list, n->without_disk, "no recorded device matches their disk");
	caveat_without(list, n->without_element,
		     "no element was popped and returned between their issue and completion");
	caveat_without(list, n->without_taken,
		     "the elements between their issue and completion belong to other requests");
	if (n->overflow)
		caveat_add(list, "%" PRIu64 " events were dropped: too many at once", n->overflow);
	return list;
}

static int draw(const struct input_set *in, struct output *out, const struct request *rq, size_t nr,
		const struct request_totals *totals)
{
	static const struct report_needs needs = {.events = "block_rq_issue",
						  .record =
							  "trace-cmd record -e block -e irq in the "
							  "guest, or hostrace record --guest"};
	struct report report = report_of(in, out);
	struct table t = {0};
	char text[160];
	int err = requests_report_rows(rq, nr, in->reader->info.start_ns,
				       input_set_nr_vms(in) > 1 ? in->vms : NULL, &t);

	snprintf(text, sizeof(text),
		 "%" PRIu64 " of %" PRIu64 " requests matched to one of %" PRIu64
		 " elements in the host's recording",
		 totals->matched, totals->requests, totals->elements);
	report.needs = &needs;
	report.extra_text = text;
	report.extra = totals_json(totals);
	report.caveats = caveats_make(in, totals);
	if (!err)
		err = report_table(&report, &t, NULL);
	else
		table_free(&t);
	json_decref(report.extra);
	json_decref(report.caveats);
	return err;
}

static int run_table(void)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_(requests_cleanup_) struct requests *q = requests_new();
	struct request_totals totals;
	const struct request *rq;
	struct output out;
	size_t nr;

	if (output_open(table_formats, &out))
		return command_failed();
	int err = q ? input_make(true, &in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = requests_read(q, in, &rq, &nr, &totals);
	if (!err)
		err = draw(in, &out, rq, nr, &totals);
	return report_end(err, &out, in, false);
}

static bool path_is_filtered(void)
{
	return input_given.vcpus.nr || input_given.tids.nr || input_given.globs.nr ||
	       input_given.reasons.nr;
}

static int run(int argc, char **argv, char **rest)
{
	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	if ((stages || waterfall) && path_is_filtered())
		return command_usage("--stages and --waterfall need the events of all threads: "
				     "they cannot be used with --vcpu, --tid, --event or --reason");
	return stages || waterfall ? requests_path_run(waterfall, min_ns) : run_table();
}

const struct command requests_command = {
	.name = "requests",
	.args = "[FILE...]",
	.summary = "Follow a guest's block requests from issue to completion.",
	.group = "Report",
	.details =
		"submit: from the guest's issue to the device's pop; device: from the pop until "
		"the\n"
		"element was returned; finish: from there until the guest completed the request.\n"
		"--stages, --waterfall: the whole path, from the guest's kick over QEMU's threads "
		"and\n"
		"the host's disk to the interrupt; without the guest's trace as well. Recorded by\n"
		"hostrace record --for requests.",
	.examples = "  hostrace requests vm.hrt --guest guest.dat --sort total --limit 10\n"
		    "  hostrace requests vm.hrt --guest guest.dat -f json | jq .totals\n"
		    "  hostrace requests vm.hrt --waterfall --limit 3\n"
		    "  hostrace requests vm.hrt --waterfall -f svg -o slowest.svg",
	.options = options,
	.rules = (const struct option_rule[]){{"sort", .unless = "stages waterfall"},
					      {"stages", .unless = "waterfall"},
					      {"min-latency", .with = "stages waterfall"},
					      {0}},
	.run = run,
};
