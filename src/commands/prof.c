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

struct flames {
	struct flame_options opt;
	uint64_t min_hits;
};

static int flame_fold(void *arg, FILE *out)
{
	struct flames *f = arg;
	_cleanup_(flame_cleanup_) struct flame *flame = NULL;
	struct sample_run run;
	int err = sample_run_open_only(&f->opt.range, &run);

	if (!err)
		err = flame_open(run.trace, &f->opt, &flame);
	if (!err)
		flame_print(flame, f->min_hits, &(struct row_sink){.out = out});
	flame_close(take_ptr(flame));
	sample_run_close_only(&run);
	return err;
}

static int flame_draw(const struct flame *flame, uint64_t min_hits, struct sample_run *run)
{
	_cleanup_free_ char *folded = NULL;
	size_t size;
	FILE *f = open_memstream(&folded, &size);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	flame_print(flame, min_hits, &(struct row_sink){.out = f});
	if (!memstream_close(f, &folded))
		return fail(-ENOMEM, "out of memory");
	return flame_run(folded, "prof-flame", false, run->in, run->trace->file, &run->out,
			 &run->sink.nr);
}

/* A percentage of --min-hits is of all samples, whose number is known only at the end: not for
 * flames. */
static int run_prof_flame(int argc, char **argv, char **rest)
{
	struct profile_options p = {0};
	struct flame_options opt = {.tracepoint = tracepoint, .compat = compat_given};
	_cleanup_(flame_cleanup_) struct flame *flame = NULL;
	struct sample_run run;
	int status, err;

	(void)rest;
	if (profile_given(&p))
		return command_usage("%s", error_text());
	if (p.tree.min_hits_percent > 0)
		return command_usage(
			"--min-hits requires a number; percentages are not supported here");
	opt.symbols = p.symbols;
	opt.frames = p.frames;
	if (folded_diff_given)
		return folded_diff_run(argc, argv, flame_fold,
				       &(struct flames){.opt = opt, .min_hits = p.tree.min_hits},
				       false);
	status = sample_run_open(argc, argv, "text folded json svg pprof", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = flame_open(run.trace, &opt, &flame);
	if (!err && (output_is("svg") || output_is("pprof")))
		err = flame_draw(flame, p.tree.min_hits, &run);
	else if (!err)
		flame_print(flame, p.tree.min_hits, &run.sink);
	flame_close(take_ptr(flame));
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
