// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace boot: the phases of a VM's boot, and what their time went into. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/self_run.h"
#include "reports/reports.h"

static const char *by, *parent;
static struct text_list markers;
static uint64_t repeat;

/* clang-format off */
static const struct option_row own_options[] = {
	{0, "by", OPT_TEXT, &by, "vm|phase|point", "the phases of each VM's boot (default), each phase of all boots with its spread, or points of time"},
	{0, "marker", OPT_LIST, &markers, "MARKER", "begins a further phase: port:NUMBER[=VALUE] or console:TEXT; the last one ends the boot (repeatable)"},
	{0, "traceparent", OPT_TEXT, &parent, "TEXT", "with -f otlp: of the span that the boots belong to (00-TRACE-SPAN-01)"},
	{0, "repeat", OPT_U64, &repeat, "N", "record N boots of the COMMAND after --, to boot-1.hrt and so on, and show their spread"},
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

enum { NAME_BYTES = 32 };

/* Fills the names of the recordings. 0, or -errno with the error message set. */
static int boots_record(char name[][NAME_BYTES])
{
	for (uint64_t i = 0; i < repeat; i++) {
		int status;

		snprintf(name[i], NAME_BYTES, "boot-%" PRIu64 ".hrt", i + 1);
		status = self_run((char *[]){"record", "--for", "boot", "-q", "-o", name[i], "--",
					     NULL},
				  command_rest);
		if (status > 0)
			return fail(-EIO,
				    "boot %" PRIu64 " was not recorded; see the message above",
				    i + 1);
		if (status)
			return status;
	}
	return 0;
}

/* --repeat: 0, or -EINVAL with the error message set. */
static int repeat_check(int argc)
{
	if (!repeat != !command_rest)
		return fail_usage(-EINVAL, "--repeat N and -- COMMAND require each other");
	if (repeat > OPTION_LIST_MAX)
		return fail_usage(-EINVAL, "--repeat: more than %d", OPTION_LIST_MAX);
	if (repeat && (argc || input_given.files.nr))
		return fail_usage(-EINVAL, "--repeat takes no recordings");
	return 0;
}

static int repeat_run(void)
{
	char name[OPTION_LIST_MAX][NAME_BYTES], *arg[OPTION_LIST_MAX];

	for (uint64_t i = 0; i < repeat; i++)
		arg[i] = name[i];
	return boots_record(name) ?: input_add_args((int)repeat, arg, OPTION_LIST_MAX);
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
	if (parent && trace_parent_parse(parent, &q.parent))
		return command_usage("%s", error_text());
	if (repeat_check(argc))
		return command_usage("%s", error_text());
	if (repeat && !by)
		q.by = BOOT_BY_PHASE;
	if (repeat ? repeat_run() : input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	return query_run(&boot_report, &(struct query){.of = &q}, "text json csv otlp", false);
}

extern const struct command boot_command;

const struct command boot_command = {
	.name = "boot",
	.args = "[FILE... | -- COMMAND...]",
	.summary = "Show the phases of a VM's boot, and what their time went into.",
	.group = "Report",
	.details =
		"From the execve of the VMM: its set-up, VM, vCPUs, devices, firmware, kernel,\n"
		"init, markers; what was not seen is \"not recorded\". --by phase shows the\n"
		"spread over several recordings.\n"
		"Recorded by hostrace record --for boot -- COMMAND.",
	.examples = "  hostrace record --for boot -o boot.hrt -- qemu-system-x86_64 ...\n"
		    "  hostrace boot boot.hrt --marker console:login:\n"
		    "  hostrace boot boot.hrt --by point\n"
		    "  hostrace boot 1.hrt 2.hrt 3.hrt --by phase --marker port:0xf4\n"
		    "  hostrace boot --repeat 20 --marker port:0xf4 -- qemu-system-x86_64 ...",
	.starts_command = true,
	.rules = (const struct option_rule[]){{"traceparent", .formats = "otlp"},
					      {"by", .formats = "text json csv"},
					      {"where", .formats = "text json csv"},
					      {"sort", .formats = "text json csv"},
					      {"limit", .formats = "text json csv"},
					      {0}},
	.options = options,
	.run = cmd_boot,
};
