// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace virtio: where the requests of each virtqueue spend their time, and how many were in
 * flight. */
#include <errno.h>
#include <string.h>

#include "analyzers/virtqueue/queues.h"
#include "base/error.h"
#include "base/memory.h"
#include "commands/common/command.h"
#include "commands/common/empty.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/vm_options.h"
#include "commands/virtio_state.h"
#include "output/queue_report.h"
#include "output/report.h"

static bool state;
static const char *qmp;

/* clang-format off */
static const struct option_row state_options[] = {
	{0, "state", OPT_FLAG, &state, NULL,     "show the current state of a running VM's queues (--vm), read from its memory"},
	{0, "qmp",   OPT_TEXT, &qmp,   "SOCKET", "with --state: also query QEMU's monitor"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_file_options, state_options,
						   vm_user_options, vm_tcg_options, NULL};

struct pass {
	struct queues *queues;
	uint64_t until_ns;
};

static int handle(void *arg, const struct event *ev)
{
	const struct pass *p = arg;

	return ev->time_ns < p->until_ns ? queues_event(p->queues, ev) : 0;
}

static const struct report_needs needs = {
	.events = "virtqueue_pop,virtqueue_fill", .record = "hostrace record --for virtio",
	.others = "vhost_start"};

static int draw_json(const struct queue_report *a, const struct input_set *in,
		     json_t *caveats, FILE *f)
{
	json_t *rows = queue_report_json(a);

	if (!json_array_size(rows)) {
		json_t *why = empty_lines(in, &needs);

		json_array_extend(caveats, why);
		json_decref(why);
	}
	input_json(in, caveats, json_pack("{s:o}", "rows", rows), f);
	return 0;
}

static int draw_table(const struct queue_report *a, const struct input_set *in, json_t *caveats,
		      const struct output *out)
{
	bool text = !strcmp(out->format, "text");
	_cleanup_free_ char *extra = NULL;
	size_t size;
	struct table t = {0};
	FILE *f = open_memstream(&extra, &size);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	queue_report_flight(a, f);
	if (!memstream_close(f, &extra))
		return fail(-ENOMEM, "out of memory");
	if (size)
		extra[size - 1] = '\0';
	struct report report = report_of(in, out);

	report.caveats = caveats;
	report.extra_text = text && size ? extra : NULL;
	queue_report_table(a, !text, &t);
	report.needs = &needs;
	if (a->left_out && !text)
		command_note("%u more queues (--limit)", a->left_out);
	int err = format_find(out->format)->table(&report, &t);

	table_free(&t);
	return err;
}

/* ---- the command ---- */

static int draw(struct queue_report *a, const struct input_set *in, const struct output *out)
{
	a->start_ns = input_set_host_start_ns(in);
	a->vms = input_set_nr_vms(in) > 1 ? in->vms : NULL;
	queue_report_make(a, out->limit);
	json_t *caveats = queue_report_caveats(a);
	int err = !strcmp(out->format, "json") ? draw_json(a, in, caveats, out->file)
					       : draw_table(a, in, caveats, out);

	json_decref(caveats);
	return err;
}

static int run_report(void)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_(queues_cleanup_) struct queues *queues = NULL;
	struct output out;

	if (output_open("text json csv", &out))
		return command_failed();
	int err = input_open_window(false, true, queues_wants, NULL, &in);

	if (!err && !(queues = queues_new(input_set_host_start_ns(in))))
		err = fail(-ENOMEM, "out of memory");
	if (!err)
		err = reader_each(in->reader, handle,
				  &(struct pass){.queues = queues, .until_ns = in->until_ns});
	if (!err) {
		struct queue_report a = {.queues = queues, .end_ns = input_set_host_end_ns(in)};

		err = draw(&a, in, &out);
	}
	return report_end(err, &out, in, false);
}

static int run(int argc, char **argv, char **rest)
{
	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (state && (input_options_nr_files(&input_given) || input_given.vms.nr != 1))
		return command_usage("--state requires a running VM (--vm PID|NAME) and no files");
	if (qmp && !state)
		return command_usage("--qmp requires --state");
	if (vm_options_given() && !state)
		return command_usage("--vm-user and --tcg require --state");
	return state ? virtio_state_run(input_given.vms.item[0], qmp) : run_report();
}

/* --state reads a VM, no trace. */
static const struct option_rule rules[] = {
	{"guest", .unless = "state"},  {"no-guest", .unless = "state"},
	{"clock", .unless = "state"},  {"tsc-khz", .unless = "state"},
	{"since", .unless = "state"},  {"until", .unless = "state"},
	{"period", .unless = "state"}, {"vcpu", .unless = "state"},
	{"tid", .unless = "state"},    {"event", .unless = "state"},
	{"reason", .unless = "state"}, {"strict", .unless = "state"},
	{0},
};

const struct command virtio_command = {
	.name = "virtio",
	.args = "[FILE...]",
	.summary = "Show virtqueue latency by stage, and requests in flight.",
	.group = "Report",
	.details = "Stages: kick-pop, pop-complete, complete-push, pop-push, push-notify,\n"
		   "notify-raise, raise-guest. Stages whose events the trace lacks are\n"
		   "omitted and listed below the table. --state: the queues of a running VM, "
		   "without a recording.",
	.examples = "  hostrace virtio -i vm.hrt\n  hostrace virtio vm.hrt -f json\n"
		    "  hostrace virtio --state --vm web1 --qmp /run/web1.qmp",
	.options = options,
	.rules = rules,
	.run = run,
};
