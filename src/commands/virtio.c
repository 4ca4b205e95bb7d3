// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * hostrace virtio: where the requests of each virtqueue spend their time, and how many were in flight. With --state,
 * each device's queues with the guest's and the device's indices.
 */
#include "base/error.h"
#include "base/json_text.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/vm_options.h"
#include "output/report.h"
#include "output/virtq_list.h"
#include "reports/reports.h"
#include "vm/vm.h"

static void draw_json(const struct virtq_list *list, pid_t pid, json_t *caveats, FILE *f)
{
	json_t *all = json_pack("{s:{s:s,s:s}, s:[], s:{}, s:O, s:o}", "hostrace", "version",
				HOSTRACE_VERSION, "command", "virtio", "inputs", "clock", "caveats",
				caveats, "rows", virtq_list_json(list, pid));

	json_text_put(all, f, JSON_INDENT(1));
	fputc('\n', f);
	json_decref(all);
}

static int draw_table(const struct virtq_list *list, bool qmp, json_t *caveats,
		      const struct output *out)
{
	struct report report = {
		.out = out, .wide = out->wide, .foot = caveats_print, .note = command_note,
		.caveats = caveats};
	struct table t = {0};
	int err = virtq_list_table(list, qmp, strcmp(out->format, "text"), &t);

	if (!err)
		return report_table(&report, &t, NULL);
	table_free(&t);
	return err;
}

/* vm: pid or name, NULL: the only one; qmp: the monitor's socket, or NULL. Returns the exit status. */
static int virtio_state_run(const char *name, const char *socket)
{
	struct virtq_list list = {0};
	struct vm vm = {0};
	struct output out;

	if (output_open("text json csv", &out))
		return command_failed();
	int err = vm_find_given(name, &vm);

	if (!err)
		err = virtq_list_read(&vm, socket, &list);
	if (!err) {
		json_t *caveats = json_array();

		virtq_list_caveats(&list, vm.pid, caveats);
		if (!strcmp(out.format, "json"))
			draw_json(&list, vm.pid, caveats, out.file);
		else
			err = draw_table(&list, socket != NULL, caveats, &out);
		json_decref(caveats);
	}
	vm_free(&vm);
	virtq_list_free(&list);
	return output_end(err, &out, false);
}

static bool state;
static const char *qmp;

/* clang-format off */
static const struct option_row state_options[] = {
	{0, "state", OPT_FLAG, &state, NULL,     "show the current state of a running VM's queues (--vm), read from its memory"},
	{0, "qmp",   OPT_TEXT, &qmp,   "SOCKET", "with --state: also query QEMU's monitor"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows,	   where_rows,
						   output_file_options, state_options,
						   vm_user_options,	   vm_tcg_options,
						   NULL};

static int cmd_virtio(int argc, char **argv)
{
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (state && (input_options_nr_files(&input_given) || input_given.vms.nr != 1))
		return command_usage("--state requires a running VM (--vm PID|NAME) and no files");
	if (qmp && !state)
		return command_usage("--qmp requires --state");
	if (vm_options_given() && !state)
		return command_usage("--vm-user and --tcg require --state");
	if (state)
		return virtio_state_run(input_given.vms.item[0], qmp);
	return query_run(&virtio_report, &(struct query){0}, "text json csv", false);
}

/* --state reads a VM, no trace. */
static const struct option_rule rules[] = {
	{"guest", .unless = "state"},  {"no-guest", .unless = "state"},
	{"clock", .unless = "state"},  {"tsc-khz", .unless = "state"},
	{"since", .unless = "state"},  {"until", .unless = "state"},
	{"period", .unless = "state"}, {"vcpu", .unless = "state"},
	{"tid", .unless = "state"},    {"event", .unless = "state"},
	{"reason", .unless = "state"}, {"strict", .unless = "state"},
	{"where", .unless = "state"},
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
	.run = cmd_virtio,
};
