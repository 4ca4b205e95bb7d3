// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace blame: what the time of each exit went into. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/folded_run.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/symbol_options.h"
#include "reports/reports.h"

enum {
	EXITS_LISTED = 10, /* unless --limit or --min-latency is given */
	CAUSES_SHOWN = 15
};

static bool list;
static const char *by;
static uint64_t min_ns, around_ns;

/* clang-format off */
static const struct option_row blame_options[] = {
	{0, "by",          OPT_TEXT,     &by,     "KEY[,KEY]", "one row per group of exits: reason, vcpu, vm, symbol (the guest's function)"},
	{0, "list",        OPT_FLAG,     &list,   NULL,        "print the longest exits, each with its parts"},
	{0, "around",      OPT_DURATION, &around_ns, "T",      "with --list or -f json: also the events of host and guest from T before each exit until T after it"},
	{0, "min-latency", OPT_DURATION, &min_ns, "T",         "only exits that took at least so long"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, where_rows, output_file_options,
						   symbols_options, blame_options,
						   folded_diff_options, NULL};

/* ---- what is selected ---- */

static int by_parse(const char *keys, struct addresses *symbols, struct blame_by *ret)
{
	_cleanup_free_ char *copy = keys ? strdup(keys) : NULL;
	char *save = NULL;

	if (keys && !copy)
		return fail(-ENOMEM, "out of memory");
	for (char *key = copy ? strtok_r(copy, ",", &save) : NULL; key;
	     key = strtok_r(NULL, ",", &save)) {
		if (!strcmp(key, "symbol")) {
			if (!symbols)
				return fail_usage(-EINVAL, "--by symbol requires --symbols FILE");
			ret->code = symbols;
			continue;
		}

		bool *flag = !strcmp(key, "reason") ? &ret->reason
			     : !strcmp(key, "vcpu") ? &ret->vcpu
			     : !strcmp(key, "vm")   ? &ret->vm
						    : NULL;

		if (!flag)
			return fail_usage(-EINVAL, "unknown key '%s' (supported: reason, vcpu, vm, "
					  "symbol)",
					  key);
		*flag = true;
	}
	return 0;
}

/* The folded stacks of one of two recordings. */
static int diff_fold(void *of, FILE *f)
{
	return query_fold(&blame_report, of, f);
}

/* Exits are kept for lists, JSON and pictures. */
static uint64_t kept(void)
{
	if (!list && !output_is("json") && !output_is("svg"))
		return 0;
	return output_limit() ? output_limit() : min_ns ? BLAME_KEPT_MAX : EXITS_LISTED;
}

static int cmd_blame(int argc, char **argv)
{
	_cleanup_(addresses_cleanup_) struct addresses *symbols = NULL;
	bool stacks = output_is("folded") || output_is("flame") || output_is("pprof");
	struct blame_query q = {.grouped = by != NULL,
				.list = list,
				.min_ns = min_ns,
				.keep = kept(),
				.around_ns = around_ns,
				.around_json = output_is("json"),
				.across = folded_diff_given};

	if (folded_diff_given && list)
		return command_usage("--diff cannot be combined with --list");
	if (!folded_diff_given && input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	if (addresses_given(&symbols) || by_parse(by, symbols, &q.by)) /* inputs may have symbols */
		return command_failed();
	if (!list)
		output_limit_default(CAUSES_SHOWN);
	q.by.stack = stacks || folded_diff_given;
	q.by.reason |= !by && q.by.stack;
	if (folded_diff_given)
		return folded_diff_run(argc, argv,
				       &(const struct folded){diff_fold, &q, .times = true});
	return query_run(&blame_report, &(struct query){.of = &q, .symbols = symbols},
			 "text json csv folded svg flame pprof", false);
}

/* Symbols name what the guest executed: in lists, titles of pictures, JSON and by --by symbol. */
static int blame_check(void)
{
	const char *symbols = symbols_option_given();

	if (symbols && !list && !output_is("json") && !output_is("svg") &&
	    !(by && strstr(by, "symbol")))
		return fail(-EINVAL,
			    "%s has no effect on 'blame' without --list, --by symbol, -f svg or "
			    "-f json",
			    symbols);
	return list || output_is("json")
		       ? 0
		       : options_unused_check("around", "without --list or -f json");
}

static const struct option_rule blame_rules[] = {
	{"list", .formats = "text"},
	{"by", .formats = "text csv json folded flame pprof", .unless = "list", .except = "diff"},
	{"event", .with = "around"},
	{"where", .unless = "diff"},
	{"limit", .formats = "text csv json svg", .unless = "diff"},
	{"wide", .formats = "text", .unless = "diff"},
	{0},
};

const struct command blame_command = {
	.name = "blame",
	.args = "[FILE...]",
	.summary = "Show what the time of VM exits went into, and who caused it.",
	.group = "Report",
	.details = "Causes: kernel, fault, device, signal, global-mutex, handover, lock, "
		   "preempted,\n"
		   "runqueue, syscall, halt-poll, halted, halted-or-fault, stopped, "
		   "inject, unknown.\n"
		   "They add up to the exits' time.\n"
		   "Recorded by hostrace record --for blame.",
	.examples = "  hostrace blame -i vm.hrt\n  hostrace blame -i vm.hrt --by reason\n"
		    "  hostrace blame -i vm.hrt --list --min-latency 1ms\n"
		    "  hostrace blame -i vm.hrt -f flame -o vm.svg\n"
		    "  hostrace blame -i vm.hrt -f svg > slowest.svg\n"
		    "  hostrace blame --diff before.hrt after.hrt -f svg -o changed.svg\n"
		    "  hostrace blame -i vm.hrt --by symbol --symbols guest.kallsyms",
	.options = options,
	.rules = blame_rules,
	.check = blame_check,
	.run = cmd_blame,
};
