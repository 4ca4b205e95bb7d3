// SPDX-License-Identifier: GPL-2.0-or-later
/* Events one a line. One OSv trace alone is printed as OSv's own tool does it (list_osv). */

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/sample_run.h"
#include "commands/common/input.h"
#include "commands/common/reports.h"
#include "reports/rows.h"

static struct rows_query given;
static const char *prefix;
static bool with_tcpdump;

/* clang-format off */
static const struct option_row list_options[] = {
	{0,   "frames",     OPT_U64,  &given.max_frames, "N",  "show at most N frames of a backtrace (default: all)"},
	{0,   "flags",      OPT_FLAG, &given.flags, NULL, "show ftrace's latency flags (irqs off, need-resched, irq, preempt depth)"},
	{0,   "follow",     OPT_FLAG, &input_given.follow, NULL, "list the events of a recording that is being written, from a pipe or a file, as they come"},
	{0,   "columns",    OPT_TEXT, &given.columns, "NAME[,NAME]", "only these columns: time_ns, source, vm, cpu, vcpu, pid, tid, comm, flags, event, "
								    "or names of fields"},
	{0},
};
/* clang-format on */

/* clang-format off */
static const struct option_row list_osv_options[] = {
	{'t', "tracepoint", OPT_TEXT, &prefix,       "PREFIX", "only OSv tracepoints whose names start with PREFIX"},
	{0,   "tcpdump",    OPT_FLAG, &with_tcpdump, NULL,     "print OSv's packets in the format of tcpdump, and TCP states by name"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {
	input_rows,	  where_rows,	       output_options,	       list_options,
	list_osv_options,
	sample_line_options, profile_symbol_options, compat_options, NULL};

/* An option that only the rows of an OSv trace have, or NULL. */
static const char *osv_option_given(void)
{
	return prefix ? "--tracepoint" : with_tcpdump ? "--tcpdump" : sample_option_given();
}

static int osv_list_write(struct sample_run *run, void *arg)
{
	struct sample_list_options *opt = arg;

	opt->range = run->source.range;
	return samples_print(run->source.trace, opt, &run->sink);
}

static int list_osv(const char *path)
{
	struct sample_list_options opt = {
		.line = sample_line_given(), .prefix = prefix, .tcpdump = with_tcpdump};

	if (options_unused_check("wide frames flags", "on one OSv trace") ||
	    backtrace_options_check())
		return command_failed();
	if (with_tcpdump)
		command_confine_starts_programs();
	return sample_report_of(path, &(const struct sample_report){.formats = "text json",
								     .write = osv_list_write,
								     .arg = &opt});
}

/* Does the metadata say which threads are vCPUs? */
static bool names_threads(const struct input *in)
{
	const json_t *meta = in->reader->info.meta, *vm;
	size_t i;

	json_array_foreach (json_object_get(meta, "vms"), i, vm)
		if (json_array_size(json_object_get(vm, "vcpus")))
			return true;
	return false;
}

/* Where the metadata does not name the threads, the events from before a time window do. */
static bool names_are_before(const struct input_set *in)
{
	for (unsigned int i = 0; i < input_set_nr(in) && in->since_ns; i++)
		if (!names_threads(&in->input[i]))
			return true;
	return false;
}

/* Addresses have names in text, where fields are shown. */
static int symbols_check(void)
{
	static const char without_fields[] = "time_ns source vm cpu vcpu pid tid comm event";
	static const char of_names[] = "exe debug module symbols use-symbols-file";
	bool has_field = !given.columns;
	char column[64];

	if (!output_is("text"))
		return options_unused_check(of_names, "on events in this format");

	for (const char *p = given.columns; p && *p; p += strcspn(p, ","), p += *p == ',') {
		snprintf(column, sizeof(column), "%.*s", (int)strcspn(p, ","), p);
		has_field |= !word_is_listed(without_fields, column);
	}
	return has_field ? 0 : options_unused_check(of_names, "on --columns without a field");
}

static int cmd_list(int argc, char **argv)
{
	_cleanup_(addresses_cleanup_) struct addresses *symbols = NULL;
	_cleanup_input_set_ struct input_set *in = NULL;
	struct output out;

	input_given.where_events = true;
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	const char *osv = NULL;

	if (!input_given.follow && osv_only_input(&osv))
		return command_failed();
	if (osv && !given.columns && !input_given.where && !given.max_frames && !output_sort() &&
	    !output_is("csv") && !output_is("jsonl"))
		return list_osv(osv);
	if (osv && osv_option_given())
		return command_usage("%s has no effect together with --columns, --frames, --sort, "
				     "--where, -f csv and -f jsonl", osv_option_given());
	if (osv_option_given())
		return command_usage("%s requires exactly one OSv trace", osv_option_given());
	common.no_pager |= input_given.follow;
	if (symbols_check() || output_open("text json jsonl csv", &out))
		return command_failed();
	if (out.sort && strcmp(out.sort, "time")) {
		output_cancel(&out);
		return command_usage("events are listed in time order; --sort %s is not possible",
				     out.sort);
	}
	input_given.allow_ticks = true;
	int err = input_make(true, &in);

	if (!err)
		input_set_want_thread_names(in);
	if (!err)
		err = input_set_open(in, NULL, NULL);
	if (!err && !input_given.follow && names_are_before(in))
		err = input_set_open_window(in, true, NULL, NULL);
	if (!err)
		err = addresses_given(&symbols);
	given.command = command_now->name;
	given.symbols = symbols;
	given.follow = input_given.follow;
	given.no_symbols = symbols_given().none;
	if (!err)
		err = rows_write(&given, in, &out);
	if (!err)
		addresses_unused_note(symbols);
	return output_end(err, &out, !err && input_set_strict_failed(in));
}

const struct command list_command = {
	.name = "list",
	.args = "[FILE...]",
	.summary = "List events in time order, host and guest side by side.",
	.group = "Report",
	.details = "Times are seconds since the first event; -f json, jsonl and csv give absolute\n"
		   "nanoseconds of the host's CLOCK_MONOTONIC. A thread without a known name is "
		   "shown\n"
		   "by its number.",
	.examples = "  hostrace list -i vm.hrt --limit 20\n"
		    "  hostrace list vm.hrt --event 'virtqueue_*' --since 1s --period 10ms\n"
		    "  hostrace list vm.hrt --event kvm_exit --columns time_ns,vcpu,reason -f csv\n"
		    "  hostrace list vm.hrt --where 'port in (0x70, 0x71)'\n"
		    "  hostrace list vm.hrt -f json | jq '.rows[] | select(.event == \"kvm_pio\")'",
	.options = options,
	.unused = "no-header symfs",
	.rules =
		(const struct option_rule[]){{"wide", .formats = "text", .unless = "columns"},
					     {"flags", .formats = "text json jsonl"},
					     {"flags", .unless = "columns"},
					     {"follow", .formats = "text json jsonl"},
					     {"since", .unless = "follow"},
					     {"until", .unless = "follow"},
					     {"period", .unless = "follow"},
					     {"guest", .unless = "follow"},
					     {"no-guest", .unless = "follow"},
					     {"clock", .unless = "follow"},
					     {"tsc-khz", .unless = "follow"},
					     {0}},
	.run = cmd_list,
};
