// SPDX-License-Identifier: GPL-2.0-or-later
/* prof, prof-timed, prof-wait, prof-lock, prof-idle, prof-flame. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "commands/common/flame_run.h"
#include "commands/common/folded_diff_run.h"
#include "commands/common/sample_run.h"

static const char *tracepoint;
static bool causes;

/* clang-format off */
static const struct option_row tracepoint_options[] = {
	{'t', "tracepoint", OPT_TEXT, &tracepoint, "NAME", "only samples of this tracepoint (exact name)"},
	{0},
};
static const struct option_row cause_options[] = {
	{0, "causes", OPT_FLAG, &causes, NULL, "with --guest: split waits by what the vCPU did meanwhile: preempted, vmm, device, halted, kernel, guest"},
	{0},
};
/* clang-format on */

static const struct option_row *const waits[] = {
	input_rows,    output_file_options,    compat_options,
	cause_options, profile_symbol_options, profile_options,
	NULL,
};
static const struct option_row *const plain[] = {
	input_rows, output_file_options, compat_options, profile_symbol_options, profile_options,
	NULL,
};
static const struct option_row *const named[] = {
	input_rows,	 output_file_options, compat_options, profile_symbol_options,
	profile_options, tracepoint_options,  NULL,
};

static const struct option_row *const flames[] = {
	input_rows,	 output_file_options, compat_options,	   profile_symbol_options,
	profile_options, tracepoint_options,  folded_diff_options, NULL,
};

static int run_prof(int argc, char **argv, char **rest)
{
	(void)rest;
	return profile_run(argc, argv, PROFILE_HITS, tracepoint, false);
}

static int run_prof_timed(int argc, char **argv, char **rest)
{
	(void)rest;
	if (!tracepoint)
		return command_usage("missing tracepoint; name one with -t NAME");
	return profile_run(argc, argv, PROFILE_TIMED, tracepoint, false);
}

static int run_prof_wait(int argc, char **argv, char **rest)
{
	(void)rest;
	return profile_run(argc, argv, PROFILE_TIMED, "sched_wait", causes);
}

static int run_prof_lock(int argc, char **argv, char **rest)
{
	(void)rest;
	return profile_run(argc, argv, PROFILE_TIMED, "mutex_lock_wait", false);
}

static int run_prof_idle(int argc, char **argv, char **rest)
{
	(void)rest;
	return profile_run(argc, argv, PROFILE_IDLE, NULL, false);
}

/* Outermost frames first, names alone. */
static void flames_given(struct profile_options *opt)
{
	opt->of = PROFILE_HITS;
	opt->tracepoint = tracepoint;
	opt->group = PROFILE_GROUP_NONE;
	opt->frames.caller_oriented = true;
	opt->frames.decimal = compat_given;
	opt->frames.show_line = opt->frames.show_file = opt->frames.show_address = false;
	if (compat_given)
		opt->frames.function = NULL;
}

static int flame_fold(void *arg, FILE *out)
{
	struct profile_options *opt = arg;
	_cleanup_(calltree_cleanup_) struct calltree *tree = NULL;
	struct sample_run run;
	int err = sample_run_open_only(&opt->range, &run);

	if (!err)
		err = sample_profile(run.trace, opt, &tree);
	if (!err)
		call_stacks_print(tree, &(struct row_sink){.out = out});
	sample_run_close_only(&run);
	return err;
}

static int flame_draw(const struct calltree *tree, struct sample_run *run)
{
	_cleanup_free_ char *folded = NULL;
	size_t size;
	FILE *f = open_memstream(&folded, &size);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	call_stacks_print(tree, &(struct row_sink){.out = f});
	if (!memstream_close(f, &folded))
		return fail(-ENOMEM, "out of memory");
	return flame_run(folded, "prof-flame", false, run->in, run->trace->file, &run->out,
			 &run->sink.nr);
}

/* A percentage of --min-hits is of all samples, whose number is known only at the end: not for
 * flames. */
static int run_prof_flame(int argc, char **argv, char **rest)
{
	struct profile_options opt = {0};
	_cleanup_(calltree_cleanup_) struct calltree *tree = NULL;
	struct sample_run run;
	int status, err;

	(void)rest;
	if (profile_given(&opt))
		return command_usage("%s", error_text());
	if (opt.tree.min_hits_percent > 0)
		return command_usage(
			"--min-hits requires a number; percentages are not supported here");
	flames_given(&opt);
	if (folded_diff_given)
		return folded_diff_run(argc, argv, flame_fold, &opt, false);
	status = sample_run_open(argc, argv, "text folded json svg pprof", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = sample_profile(run.trace, &opt, &tree);
	if (!err && (output_is("svg") || output_is("pprof")))
		err = flame_draw(tree, &run);
	else if (!err)
		call_stacks_print(tree, &run.sink);
	if (tracepoint)
		run.needs = &(const struct report_needs){.events = tracepoint};
	return sample_run_close(&run, err);
}

#define PROF_COMMAND(ident, command_name, table, text, more, sample, without, when)  \
	const struct command ident##_command = {                                                   \
		.name = command_name,                                                              \
		.args = "[FILE...]",                                                               \
		.summary = text,                                                                   \
		.group = "OSv guests",                                                             \
		.details = more,                                                                   \
		.examples = sample,                                                                \
		.options = table,                                                                  \
		.unused = without,                                                                 \
		.rules = when,                                                                     \
		.run = run_##ident,                                                                \
	}

/* Trees are no rows. */
#define NO_ROWS "limit wide"
#define FLAME_UNUSED                                                                               \
	"wide min-duration max-levels caller-oriented group-by show-line-number "        \
	"show-address show-file-name"

static const struct option_rule flame_rules[] = {
	{"limit", .formats = "text folded json", .unless = "diff"}, {0}};

PROF_COMMAND(prof, "prof", named, "Show samples as a tree of call paths.",
	     "Every sample with a backtrace counts once.",
	     "  hostrace prof -e loader.elf tracefile\n  hostrace prof -t sampler_tick -S -r",
	     NO_ROWS, profile_rules);
PROF_COMMAND(prof_timed, "prof-timed", named,
	     "Show the time between begin and end events, by call path.",
	     "A span lasts from the event NAME to NAME_ret or NAME_err in the same thread.",
	     "  hostrace prof-timed -t vfs_pwritev -e loader.elf tracefile", NO_ROWS,
	     profile_rules);
PROF_COMMAND(prof_wait, "prof-wait", waits, "Show the time that threads waited, by call path.",
	     NULL, "  hostrace prof-wait -g thread --min-duration 1ms -S tracefile", NO_ROWS,
	     profile_rules);
PROF_COMMAND(prof_lock, "prof-lock", plain,
	     "Show the time that threads waited for mutexes, by call path.", NULL,
	     "  hostrace prof-lock -L -S tracefile", NO_ROWS, profile_rules);
PROF_COMMAND(prof_idle, "prof-idle", plain,
	     "Show what threads waited for while their CPU was idle.", NULL,
	     "  hostrace prof-idle -S tracefile", NO_ROWS, profile_rules);
PROF_COMMAND(prof_flame, "prof-flame", flames, "Print folded stacks for flame graphs.",
	     "Each line is \"outermost;...;innermost HITS\", as flamegraph.pl and speedscope "
	     "expect it.\n"
	     "-f svg draws the flame graph.",
	     "  hostrace prof-flame -S tracefile -f svg -o flame.svg\n"
	     "  hostrace prof-flame --diff a.hrt b.hrt -f svg -o changed.svg",
	     FLAME_UNUSED, flame_rules);
