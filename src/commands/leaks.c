// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "output/element_report.h"
#include "output/report.h"
#include "pairing/elements.h"

static uint64_t min_age_ns = 1000000000;
static bool check;

/* clang-format off */
static const struct option_row leak_options[] = {
	{0, "min-age", OPT_DURATION, &min_age_ns, "TIME", "elements younger than this are in flight, not leaked (default 1s)"},
	{0, "check",   OPT_FLAG,     &check,      NULL,   "exit with status 3 if an element leaked"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_options, leak_options, NULL};

struct pass {
	struct elements *elements;
	uint64_t until_ns;
};

static int handle(void *arg, const struct event *ev)
{
	const struct pass *p = arg;

	if (ev->time_ns < p->until_ns)
		elements_event(p->elements, ev);
	return 0;
}

static int draw(const struct input_set *in, struct elements *e, struct output *out,
		uint64_t *ret_leaked)
{
	static const struct report_needs needs = {.events = "virtqueue_pop,virtqueue_fill",
						  .record = "hostrace record --for leaks",
						  .others = "vhost_start"};
	const struct reader *r = in->reader;
	struct element_totals totals;
	struct element *list = NULL;
	struct table t = {0};
	char text[256];
	size_t nr;
	int err = elements_end(e, input_set_host_end_ns(in), min_age_ns, &list, &nr, &totals);

	if (err)
		return err;
	element_totals_print(&totals, text, sizeof(text));
	struct report report = report_of(in, out);

	report.caveats = element_caveats(&r->info, e, &totals);
	report.extra = element_totals_json(&totals);
	report.extra_text = text;
	report.needs = &needs;
	report.answers = nr || totals.popped || totals.before;
	if (!nr && report.answers)
		report.first_line = "no elements in flight, held or leaked";
	element_table(list, nr, r->info.start_ns, input_set_nr_vms(in) > 1 ? in->vms : NULL, &t);
	err = report_table(&report, &t, NULL);
	json_decref(report.caveats);
	json_decref(report.extra);
	free(list);
	*ret_leaked = totals.leaked;
	return err;
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_(elements_cleanup_) struct elements *e = elements_new();
	struct output out;
	uint64_t leaked = 0;

	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX) || output_open(table_formats, &out))
		return command_failed();
	int err = e ? input_open_window(false, true, elements_wants, NULL, &in)
		    : fail(-ENOMEM, "out of memory");

	if (!err) {
		elements_window(e, in->since_ns);
		err = reader_each(in->reader, handle,
				  &(struct pass){.elements = e, .until_ns = in->until_ns});
	}
	if (!err)
		err = draw(in, e, &out, &leaked);
	return report_end(err, &out, in, check && leaked);
}

const struct command leaks_command = {
	.name = "leaks",
	.args = "[FILE...]",
	.summary = "Find virtqueue elements that were popped and never returned.",
	.group = "Report",
	.details = "Verdicts: leaked (older than --min-age at the end of the trace), in-flight\n"
		   "(younger), held (kept by design), broken device (QEMU stopped the device after "
		   "an\n"
		   "error), migrated, not visible (vhost), unknown (events were lost).",
	.examples = "  hostrace leaks -i vm.hrt\n  hostrace leaks vm.hrt --min-age 100ms --check",
	.options = options,
	.run = run,
};
