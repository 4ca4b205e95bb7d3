// SPDX-License-Identifier: GPL-2.0-or-later
/* prof, prof-timed, prof-wait, prof-lock, prof-idle, prof-flame. */
#include <errno.h>

#include "base/error.h"
#include "commands/common/folded_run.h"
#include "commands/common/sample_run.h"
#include "reports/profile.h"

static const char *tracepoint;
static bool causes;

/* clang-format off */
static const struct option_row tracepoint_options[] = {
	{'t', "tracepoint", OPT_TEXT, &tracepoint, "NAME", "only samples of this tracepoint (exact name)"},
	{0},
};
static const struct option_row cause_options[] = {
	{0, "causes", OPT_FLAG, &causes, NULL, "with --guest: split waits by what the vCPU did meanwhile: preempted, runqueue, vmm, device, halted, kernel, guest"},
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

static const struct option_row *const hits[] = {
	input_rows,	     where_rows,      output_file_options, compat_options,
	profile_symbol_options, profile_options, tracepoint_options,  NULL,
};

static const struct option_row *const flames[] = {
	input_rows,	     where_rows,      output_file_options, compat_options,
	profile_symbol_options, profile_options, tracepoint_options,  folded_diff_options, NULL,
};

/* What is asked, of the trace that is open. */
static int profile_write(struct sample_run *run, void *arg)
{
	const struct profile_query *q = arg;
	struct calltree *tree = NULL;
	int err = profile_make(q, &run->source, &tree, &run->more);

	if (!err)
		err = profile_put(q, tree, &run->source, command_now->name, &run->out, &run->sink);
	calltree_close(tree);
	return err;
}

/* One of two recordings. */
static int one_fold(void *arg, FILE *out)
{
	struct calltree *tree = NULL;
	struct sample_run run;
	json_t *notes = NULL;
	int err = sample_run_open_only(&run);

	if (!err)
		err = profile_make(arg, &run.source, &tree, &notes);
	if (!err)
		profile_fold(arg, tree, out);
	if (!err && run.source.trace->refused)
		command_note(SAMPLES_REFUSED, run.source.trace->refused);
	json_decref(notes);
	calltree_close(tree);
	sample_source_close(&run.source);
	return err;
}

/* Outermost frames first, names alone. */
static int stacks_given(struct profile_options *opt)
{
	opt->group = PROFILE_GROUP_NONE;
	opt->frames.caller_oriented = true;
	opt->frames.decimal = compat_given;
	opt->frames.show_line = opt->frames.show_file = opt->frames.show_address = false;
	if (compat_given)
		opt->frames.function = NULL;
	/* Of all samples, whose number is known only at the end. */
	return opt->tree.min_hits_percent > 0
		       ? fail(-EINVAL, "--min-hits requires a number; percentages are not "
				       "supported here")
		       : 0;
}

static int profile_run(int argc, char **argv, const struct profile_query *query)
{
	struct profile_query q = *query;
	struct sample_report report = {
		q.stacks ? "text folded json svg pprof" : "text json folded svg pprof",
		.write = profile_write, .arg = &q};
	struct report_needs needs = profile_needs(&q);

	input_given.where_events = true;

	if (q.causes && !input_given.guests.nr)
		return command_usage(
			"--causes requires traces of host and guest: -i HOST --guest FILE");
	if (profile_given(&q.opt) || (q.stacks && stacks_given(&q.opt)))
		return command_usage("%s", error_text());
	q.opt.frames.caller_oriented |=
		output_is("folded") || output_is("svg") || output_is("pprof");
	if (folded_diff_given)
		return folded_diff_run(argc, argv, &(const struct folded){one_fold, &q});
	report.needs = needs.events ? &needs : NULL;
	return sample_report_run(argc, argv, &report);
}

int profile_of(int argc, char **argv, enum profile_of of, const char *name)
{
	return profile_run(argc, argv,
			   &(const struct profile_query){.opt = {.of = of, .tracepoint = name}});
}

static int run_prof(int argc, char **argv)
{
	return profile_of(argc, argv, PROFILE_HITS, tracepoint);
}

static int run_prof_timed(int argc, char **argv)
{
	if (!tracepoint)
		return command_usage("missing tracepoint; name one with -t NAME");
	return profile_of(argc, argv, PROFILE_TIMED, tracepoint);
}

static int run_prof_wait(int argc, char **argv)
{
	return profile_run(argc, argv,
			   &(const struct profile_query){
				   .opt = {.of = PROFILE_TIMED, .tracepoint = "sched_wait"},
				   .causes = causes});
}

static int run_prof_lock(int argc, char **argv)
{
	return profile_of(argc, argv, PROFILE_TIMED, "mutex_lock_wait");
}

static int run_prof_idle(int argc, char **argv)
{
	return profile_of(argc, argv, PROFILE_IDLE, NULL);
}

static int run_prof_flame(int argc, char **argv)
{
	return profile_run(argc, argv,
			   &(const struct profile_query){
				   .opt = {.of = PROFILE_HITS, .tracepoint = tracepoint},
				   .stacks = true});
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
	{"limit", .formats = "text folded json", .unless = "diff"},
	{"sort", .unless = "compat"},
	{0},
};

PROF_COMMAND(prof, "prof", hits, "Show samples as a tree of call paths.",
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
