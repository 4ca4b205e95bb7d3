// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace boot: the phases of a VM's boot, and what their time went into. */
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "reports/reports.h"

static const char *by;
static struct text_list markers;

/* clang-format off */
static const struct option_row own_options[] = {
	{0, "by", OPT_TEXT, &by, "vm|phase|point", "the phases of each VM's boot (default), each phase of all boots with its spread, or points of time"},
	{0, "marker", OPT_LIST, &markers, "MARKER", "begins a further phase: port:NUMBER[=VALUE] or console:TEXT; the last one ends the boot (repeatable)"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_options,
						   own_options, NULL};

static bool by_parse(enum boot_by *ret)
{
	static const char *const names[] = {
		[BOOT_BY_VM] = "vm", [BOOT_BY_PHASE] = "phase", [BOOT_BY_POINT] = "point"};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (by && strcmp(by, names[i]) != 0)
			continue;
		*ret = i;
		return true;
	}
	return false;
}

static int cmd_boot(int argc, char **argv)
{
	struct boot_query q = {0};

	if (!by_parse(&q.by))
		return command_usage("invalid --by '%s' (expected vm, phase or point)", by);
	if (markers.nr > BOOT_MARKERS_MAX)
		return command_usage("more than %d --marker", BOOT_MARKERS_MAX);
	for (; q.nr_markers < markers.nr; q.nr_markers++)
		if (boot_marker_parse(markers.item[q.nr_markers], &q.marker[q.nr_markers]))
			return command_usage("%s", error_text());
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	return query_run(&boot_report, &(struct query){.of = &q}, "text json csv", false);
}

extern const struct command boot_command;

const struct command boot_command = {
	.name = "boot",
	.args = "[FILE...]",
	.summary = "Show how long the phases of a VM's boot took, and what the time went into.",
	.group = "Report",
	.details =
		"From the execve of the VMM: its set-up, VM, vCPUs, devices, firmware, kernel,\n"
		"init, markers; what was not seen is \"not recorded\". --by phase shows the\n"
		"spread over several recordings.\n"
		"Recorded by hostrace record --for boot -- COMMAND.",
	.examples = "  hostrace record --for boot -o boot.hrt -- qemu-system-x86_64 ...\n"
		    "  hostrace boot boot.hrt --marker console:login:\n"
		    "  hostrace boot boot.hrt --by point\n"
		    "  hostrace boot 1.hrt 2.hrt 3.hrt --by phase --marker port:0xf4",
	.options = options,
	.run = cmd_boot,
};
