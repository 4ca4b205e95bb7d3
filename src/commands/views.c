// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `hostrace VIEW ANALYZER` for every view and analyzer, and the named reports that people need
 * daily: a view and an analyzer each.
 */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/sample_run.h"
#include "readers/osv/osv.h"
#include "commands/common/input.h"
#include "commands/common/symbol_options.h"
#include "commands/common/view_run.h"

extern const struct view summary_view, count_view, histogram_view, heatmap_view, list_spans_view;

static const char *by;
static bool exact, timed;

/* clang-format off */
static const struct option_row by_options[] = {
	{0, "by", OPT_TEXT, &by, "KEY[,KEY]", "also group by these keys (vm, vcpu, pid, tid, cpu, guest-task, level, fields of the event); =KEY: group by KEY alone"},
	{0},
};
static const struct option_row exact_options[] = {
	{0, "exact", OPT_FLAG, &exact, NULL, "group by address instead of 4 KiB page"},
	{0},
};
/* clang-format on */

static const struct option_row timed_options[] = {
	{0, "timed", OPT_FLAG, &timed, NULL,
	 "without an analyzer: summarize NAME, NAME_ret pairs of a guest's trace (or any other)"},
	{0},
};
static const struct option_row *const options[] = {input_rows, where_rows,	    output_options,
						   by_options, symbols_options, view_options,
						   NULL};
static const struct option_row *const summary_options[] = {
	input_rows,   where_rows,    output_options, by_options, symbols_options,
	view_options, timed_options, compat_options, NULL};
static const struct option_row *const heatmap_options[] = {
	input_rows,	 where_rows,   output_options, by_options,
	symbols_options, link_options, view_options,   NULL};
static const struct option_row *const mmio_options[] = {
	input_rows,	 where_rows,	output_options, by_options,
	symbols_options, exact_options, view_options,	NULL};

static const struct option_rule heatmap_rules[] = {{"link", .formats = "svg"}, {0}};

/* Symbols are those of addresses, which rows have by --by rip. */
static int keys_check(void)
{
	const char *symbols = symbols_option_given();

	if (symbols && !(by && strstr(by, "rip")))
		return fail(-EINVAL, "%s has no effect on '%s' without --by rip", symbols,
			    command_now->name);
	if (exact && by && *by == '=')
		return fail(-EINVAL, "--exact has no effect together with --by %s", by);
	return 0;
}

/* `hostrace VIEW ANALYZER [FILE...]` */
static int run_view(const struct view *view, int argc, char **argv)
{
	char list[512] = "";

	for (const struct analyzer *const *a = analyzers; !argc && *a; a++)
		snprintf(list + strlen(list), sizeof(list) - strlen(list), " %s", (*a)->name);
	if (!argc)
		return command_usage("missing analyzer (supported:%s, or pair:BEGIN,END,KEY)",
				     list);
	if (input_add_args(argc - 1, argv + 1, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	return view_run(view, argv[0], by);
}

/* A named report: its arguments are files. */
static int run_report(const struct view *view, const char *analyzer, const char *keys, int argc,
		      char **argv)
{
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	return view_run(view, analyzer, keys);
}

/* An OSv trace alone: `summary` of OSv's tool. */
static int run_summary(int argc, char **argv)
{
	if (argc == 1 && osv_is_trace(argv[0], NULL))
		input_add_file(*argv++), argc--;
	const char *osv = NULL;

	if (!argc && osv_only_input(&osv))
		return command_failed();
	if (osv)
		return sample_summary_run(0, NULL, osv, timed);
	if (compat_given)
		return command_usage("--compat requires exactly one OSv trace");
	if (timed)
		return sample_summary_run(argc, argv, NULL, true);
	return run_view(&summary_view, argc, argv);
}

/* The last arguments are further members of the command. */
#define VIEW_COMMAND(ident, view_name, text, more, ...)                                            \
	static int run_##ident(int argc, char **argv)                                 \
	{                                                                                          \
		return run_view(&ident##_view, argc, argv);                                        \
	}                                                                                          \
	VIEW_COMMAND_ROW(ident, view_name, "ANALYZER [FILE...]", text, more, options, __VA_ARGS__)

#define VIEW_COMMAND_ROW(ident, view_name, arguments, text, more, table, ...)                      \
	const struct command ident##_command = {                                                   \
		.name = view_name,                                                                 \
		.args = arguments,                                                                 \
		.summary = text,                                                                   \
		.group = "Any view of any analyzer",                                               \
		.details = "Analyzers: exit-latency, userspace-exit, run-length, pio, mmio, msr, " \
			   "virtqueue, virtio-kick,\n"                                             \
			   "halt-poll, irq-inject, sched-out, qemu-pio, exit-pio, exit-msr, "      \
			   "exit-mmio,\n"                                                          \
			   "bql-wait, bql-hold, block, aio-poll, or pair:BEGIN,END,KEY.",          \
		.examples = more,                                                                  \
		.options = table,                                                                  \
		.run = run_##ident,                                                                \
		__VA_ARGS__                                                                        \
	}

/* Of pictures: what tables have. */
#define NO_TABLE "by symbols no-resolve limit sort"

VIEW_COMMAND_ROW(summary, "summary", "ANALYZER [FILE...] | OSV-TRACE",
		 "Summarize durations by group: count, total, percentiles.",
		 "  hostrace summary virtqueue -i vm.hrt\n  hostrace summary "
		 "pair:kvm_msi_set_irq,kvm_entry,pid"
		 "\n  hostrace summary --timed tracefile",
		 summary_options, .check = keys_check);
/* Without an analyzer it counts exits: also those of a table that another tool printed. */
static int run_count(int argc, char **argv)
{
	struct pair_analyzer own;

	if (argc ? access(argv[0], F_OK) || analyzer_find(argv[0], &own) : !input_given.files.nr)
		return run_view(&count_view, argc, argv);
	return run_report(&count_view, "exit-latency", by, argc, argv);
}

VIEW_COMMAND_ROW(count, "count", "[ANALYZER|EVENT] [FILE...]", "Count spans or events by group.",
		 "  hostrace count irq-inject -i vm.hrt --by vcpu\n"
		 "  hostrace count kvm:kvm_pio -i vm.hrt --by port",
		 options, .check = keys_check);
VIEW_COMMAND(histogram, "histogram", "Show a histogram of durations, by powers of two.",
	     "  hostrace histogram exit-latency -i vm.hrt", .unused = NO_TABLE);
static int run_heatmap(int argc, char **argv)
{
	return run_view(&heatmap_view, argc, argv);
}

VIEW_COMMAND_ROW(
	heatmap, "heatmap", "ANALYZER [FILE...]", "Show durations over time as a heat map.",
	"  hostrace heatmap exit-latency -i vm.hrt\n  hostrace heatmap virtqueue -f svg -o "
	"virtqueue.svg",
	heatmap_options, .unused = NO_TABLE, .rules = heatmap_rules);
VIEW_COMMAND(list_spans, "list-spans", "List spans one by one, ordered by their end.",
	     "  hostrace list-spans exit-latency --sort duration_ns --limit 10",
	     .unused = "symbols no-resolve");

/* "=dir,addr,size" takes the place of the page; --by adds to either. */
static const char *mmio_keys(char *keys, size_t size)
{
	if (!exact || (by && *by == '='))
		return by;
	snprintf(keys, size, "=dir,addr,size%s%s", by ? "," : "", by ? by : "");
	return keys;
}

#define REPORT_COMMAND(ident, text, view, analyzer, keys, table, more, sample)                     \
	static int run_##ident(int argc, char **argv)                                 \
	{                                                                                          \
		return run_report(view, analyzer, keys, argc, argv);                               \
	}                                                                                          \
	const struct command ident##_command = {                                                   \
		.name = #ident,                                                                    \
		.args = "[FILE...]",                                                               \
		.summary = text,                                                                   \
		.group = "Report",                                                                 \
		.details = more,                                                                   \
		.examples = sample,                                                                \
		.options = table,                                                                  \
		.run = run_##ident,                                                                \
		.check = keys_check,                                                               \
	}

REPORT_COMMAND(exits, "Show VM-exits by reason: count, latency, userspace exits.", &summary_view,
	       "exit-latency", by, options,
	       "The same as 'summary exit-latency'. If the KVM backend has no kvm_exit, it shows\n"
	       "exits to the VMM; the first line then says so.",
	       "  hostrace exits -i vm.hrt\n  hostrace exits vm.hrt --by vcpu\n  hostrace exits "
	       "vm.hrt --by =rip --limit 20");
REPORT_COMMAND(msrs, "Count intercepted MSR accesses by register.", &count_view, "msr", by, options,
	       "Without kvm_msr, exits for RDMSR and WRMSR are counted; their number is unknown.",
	       "  hostrace msrs -i vm.hrt");
REPORT_COMMAND(ports, "Count port I/O accesses by port and width (cpu_in, cpu_out).", &count_view,
	       "pio", by, options,
	       "QEMU's probes cpu_in and cpu_out no longer fire for guests (KVM: since QEMU 1.7,\n"
	       "TCG: since 2.4). This report counts the same accesses, the guest's in and out\n"
	       "instructions, from kvm_pio, or under TCG from QEMU's address_space_* functions.\n"
	       "Without these, it is counted from kvm_exit: port, direction and size are in it.",
	       "  hostrace ports -i vm.hrt\n  hostrace ports vm.hrt --by vcpu -f json");
REPORT_COMMAND(mmio, "Count MMIO accesses by page or address, and width.", &count_view, "mmio",
	       mmio_keys((char[512]){0}, 512), mmio_options,
	       "Without kvm_mmio, exits that are certain to be MMIO are counted from kvm_exit:\n"
	       "EPT_MISCONFIG (no address, no direction) and npf with a reserved bit.",
	       "  hostrace mmio -i vm.hrt --exact");
