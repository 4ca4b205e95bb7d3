// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace info: what a trace holds (output/info_report.h). */
#include <string.h>

#include "base/json_text.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "event/vm_names.h"
#include "output/info_report.h"

static const struct option_row *const options[] = {input_rows, output_options, NULL};

static void print_json(const struct input_set *in, json_t *result, FILE *f)
{
	json_t *head = input_head(in, NULL);

	json_object_set(head, "result", result);
	json_text_put(head, f, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
	fputc('\n', f);
	json_decref(head);
}

static int report(const struct input_set *in, struct output *out)
{
	json_t *result = info_report_make(in);

	if (!result)
		return -1;
	if (!strcmp(out->format, "json")) {
		print_json(in, result, out->file);
	} else {
		info_report_text(in, result, out->file);
		input_foot(in, NULL, out->file);
	}
	json_decref(result);
	return 0;
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct output out;

	(void)rest;
	if (input_add_args(argc, argv, OPTION_LIST_MAX) || output_open("text json", &out))
		return command_failed();
	bool all = !input_options_have_window(&input_given) &&
		   !input_options_have_filter(&input_given);
	bool find_vms = false;
	input_given.allow_ticks = true;
	int err = input_open(false, all ? info_report_wants : NULL, &find_vms, &in);

	if (!err && all && !vm_names_nr(in->vms)) {
		find_vms = true;
		err = input_set_open(in, info_report_wants, &find_vms);
	}
	if (!err)
		err = report(in, &out);
	return report_end(err, &out, in, false);
}

const struct command info_command = {
	.name = "info",
	.args = "[FILE...]",
	.summary = "Describe a trace: VMs, events, losses, clocks, probes.",
	.group = "Report",
	.examples = "  hostrace info vm.hrt\n"
		    "  hostrace info vm.hrt -f json | jq .result.events",
	.options = options,
	.unused = "limit sort",
	.run = run,
};
