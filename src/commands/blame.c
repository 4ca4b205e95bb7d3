// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace blame: what the time of each exit went into. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyzers/blame/summary.h"
#include "base/error.h"
#include "commands/blame_around.h"
#include "commands/blame_answer.h"
#include "commands/common/folded_run.h"
#include "commands/common/blame_filter.h"
#include "commands/common/command.h"
#include "commands/common/empty.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/common/symbol_options.h"
#include "output/blame_report.h"
#include "output/report.h"

enum { EXITS_LISTED = 10 }; /* unless --limit or --min-latency is given */

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

static const struct option_row *const options[] = {input_rows, output_file_options,
						   symbols_options, blame_options,
						   folded_diff_options, NULL};

/* ---- what is selected ---- */

static int by_parse(const char *keys, const struct addresses *symbols, struct blame_by *ret)
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

/* ---- the report ---- */

static int draw_list(const struct blame_report *r, const struct input_set *in, json_t *caveats,
		     const struct output *out)
{
	struct report report = report_of(in, out);

	report.needs = &blame_needs;
	if (blame_none_selected(r)) {
		char none[96];

		fprintf(out->file, "%s\n", blame_none_print(r, none, sizeof(none)));
	} else if (!r->summary->nr_kept) {
		report_empty(&report);
	}
	blame_report_list(r, out->file);
	input_foot(in, caveats, out->file);
	return 0;
}

static int draw_table(const struct blame_report *r, const struct input_set *in, json_t *caveats,
		      const struct output *out)
{
	struct report report = report_of(in, out);
	struct table t = {0};
	char first[96];
	int err = by ? blame_report_groups(r, &t) : blame_report_totals(r, &t);

	report.needs = &blame_needs;
	report.caveats = caveats;
	report.answers = blame_none_selected(r);
	if (report.answers)
		report.first_line = blame_none_print(r, first, sizeof(first));
	else if (r->summary->exits)
		report.first_line = blame_report_first_line(r, first, sizeof(first));
	return report_table_made(&report, err, &t);
}

static int stacks_fold(void *report, FILE *out)
{
	return blame_report_folded(report, out);
}

static int draw_format(struct blame_report *r, const struct input_set *in, json_t *caveats,
		       const struct output *out)
{
	if (!strcmp(out->format, "json"))
		return blame_answer_json(r, in, caveats, out->file);
	if (!strcmp(out->format, "folded"))
		return blame_report_folded(r, out->file);
	if (!strcmp(out->format, "flame") || !strcmp(out->format, "pprof"))
		return folded_write(&(const struct folded){stacks_fold, r,
							   "What the time of exits went into",
							   true},
				    in, NULL, out, &(uint64_t){0});
	if (list && !strcmp(out->format, "text"))
		return draw_list(r, in, caveats, out);
	if (strcmp(out->format, "svg") != 0)
		return draw_table(r, in, caveats, out);
	blame_report_svg(r, out->file);
	return 0;
}

static int draw(struct blame_report *r, const struct input_set *in, const struct output *out)
{
	json_t *caveats = blame_answer_begin(r, in);
	struct around around = {0};
	int err = 0;

	if (around_ns) {
		err = around_read(r->summary, around_ns, !strcmp(out->format, "json"), r->start_ns,
				  r->symbols, &around);
		r->around = around.text;
		r->left_out = around.left_out;
	}
	if (!err)
		err = draw_format(r, in, caveats, out);
	around_free(&around);
	json_decref(caveats);
	return err;
}

static int analyze(struct input_set **in, struct blame_summary *s, const struct addresses *symbols,
		   struct output *out)
{
	struct blame_sink sink = blame_summary_sink(s);
	_cleanup_(blame_cleanup_) struct blame *b = blame_new(&sink);
	int err = b ? blame_read(b, in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = blame_summary_end(s);
	if (!err) {
		struct blame_report r = {.summary = s,
					 .counts = blame_counts(b),
					 .blame = b,
					 .symbols = symbols};

		err = draw(&r, *in, out);
	}
	return err;
}

/* The folded stacks of one of two recordings. */
static int diff_fold(void *arg, FILE *f)
{
	const struct blame_by *grouped = arg;
	struct blame_summary s = {.by = *grouped,
				  .min_ns = min_ns,
				  .selects = blame_exit_selected,
				  .arg = &input_given};
	struct blame_sink sink = blame_summary_sink(&s);
	_cleanup_(blame_cleanup_) struct blame *b = blame_new(&sink);
	_cleanup_input_set_ struct input_set *in = NULL;
	int err = b ? blame_read(b, &in) : fail(-ENOMEM, "out of memory");

	if (!err)
		err = blame_summary_end(&s);
	if (!err) {
		struct blame_report r = {.summary = &s,
					 .counts = blame_counts(b),
					 .blame = b,
					 .across = true};

		json_decref(blame_answer_begin(&r, in));
		err = blame_report_folded(&r, f);
	}
	blame_summary_free(&s);
	return err;
}

static int run(int argc, char **argv, char **rest)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	_cleanup_(addresses_cleanup_) struct addresses *symbols = NULL;
	struct blame_summary s = {
		.min_ns = min_ns, .selects = blame_exit_selected, .arg = &input_given};
	struct output out;
	int err;

	(void)rest;
	if (folded_diff_given && list)
		return command_usage("--diff cannot be combined with --list");
	if (!folded_diff_given && input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_failed();
	if (addresses_given(&symbols) || by_parse(by, symbols, &s.by)) /* inputs may have symbols */
		return command_failed();
	s.by.reason |= !by && folded_diff_given;
	s.by.stack = folded_diff_given;
	if (folded_diff_given)
		return folded_diff_run(argc, argv,
				       &(const struct folded){diff_fold, &s.by, .times = true});
	if (output_open("text json csv folded svg flame pprof", &out))
		return command_failed();
	s.by.stack = output_is("folded") || output_is("flame") || output_is("pprof");
	s.by.reason |= !by && s.by.stack;
	if (list || output_is("json") || output_is("svg"))
		s.keep = out.limit ? out.limit : min_ns ? BLAME_KEPT_MAX : EXITS_LISTED;
	err = analyze(&in, &s, symbols, &out);
	blame_summary_free(&s);
	return report_end(err, &out, in, false);
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
		   "runqueue, syscall, halt-poll, halted, inject, unknown. They add up to the "
		   "exits' time.\n"
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
	.run = run,
};
