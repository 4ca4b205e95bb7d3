// SPDX-License-Identifier: GPL-2.0-or-later
/* prof, prof-timed, prof-wait, prof-lock, prof-idle, prof-flame. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "commands/osv.h"
#include "reading.h"

static const char *tracepoint;

/* clang-format off */
static const struct option_row tracepoint_options[] = {
	{'t', "tracepoint", OPT_TEXT, &tracepoint, "NAME", "samples of this tracepoint (its exact name)"},
	{0},
};
/* clang-format on */

static const struct option_row *const plain[] = {
	reading_options,     output_file_options, osv_compat_options,
	osv_symbol_options,  osv_profile_options, NULL,
};
static const struct option_row *const named[] = {
	reading_options,    output_file_options, osv_compat_options,
	osv_symbol_options, osv_profile_options, tracepoint_options, NULL,
};

void osv_trees_put(const struct calltree *tree, bool grouped, struct osv_sink *sink)
{
	if (!sink->json) {
		osv_profile_print(tree, grouped, sink->out);
		return;
	}
	for (unsigned int i = 0; i < calltree_nr_roots(tree); i++) {
		uint32_t root = calltree_root_at(tree, i);
		json_t *o = calltree_json(tree, root);

		if (grouped && o)
			json_object_set_new(o, "group", osv_text_json(calltree_title(tree, root)));
		if (o)
			osv_sink_row(sink, o);
	}
}

int osv_prof_run(int argc, char **argv, enum osv_profile_of of, const char *name)
{
	struct osv_profile_options opt = {.of = of, .tracepoint = name};
	struct calltree *tree = NULL;
	struct osv_run run;
	int status;

	if (osv_profile_given(&opt))
		return command_usage("%s", error_text());
	status = osv_run_open(argc, argv, "text json", &opt.range, &run);
	if (status != OSV_RUN_BEGUN)
		return status;
	int err = osv_profile(run.trace, &opt, &tree);

	if (!err)
		osv_trees_put(tree, opt.group != OSV_GROUP_NONE, &run.sink);
	calltree_close(tree);
	return osv_run_close(&run, err);
}

static int run_prof(int argc, char **argv, char **rest)
{
	(void)rest;
	return osv_prof_run(argc, argv, OSV_HITS, tracepoint);
}

static int run_prof_timed(int argc, char **argv, char **rest)
{
	(void)rest;
	if (!tracepoint)
		return command_usage("which tracepoint? give -t NAME");
	return osv_prof_run(argc, argv, OSV_TIMED, tracepoint);
}

static int run_prof_wait(int argc, char **argv, char **rest)
{
	(void)rest;
	return osv_prof_run(argc, argv, OSV_TIMED, "sched_wait");
}

static int run_prof_lock(int argc, char **argv, char **rest)
{
	(void)rest;
	return osv_prof_run(argc, argv, OSV_TIMED, "mutex_lock_wait");
}

static int run_prof_idle(int argc, char **argv, char **rest)
{
	(void)rest;
	return osv_prof_run(argc, argv, OSV_IDLE, NULL);
}

/* The percentage of --min-hits is of all samples, which only the end tells: not for flames. */
static int run_prof_flame(int argc, char **argv, char **rest)
{
	struct osv_profile_options p = {0};
	struct osv_flame_options opt = {.tracepoint = tracepoint, .compat = osv_compat};
	struct osv_run run;
	int status;

	(void)rest;
	if (osv_profile_given(&p))
		return command_usage("%s", error_text());
	if (p.tree.min_hits_percent > 0)
		return command_usage("--min-hits takes a number here, not a percentage");
	opt.symbols = p.symbols;
	opt.frames = p.frames;
	opt.min_hits = p.tree.min_hits;
	status = osv_run_open(argc, argv, "text folded json", &opt.range, &run);
	return status != OSV_RUN_BEGUN ? status
				   : osv_run_close(&run, osv_flame(run.trace, &opt, &run.sink));
}

#define PROF_COMMAND(ident, command_name, table, text, more, sample)                               \
	const struct command ident##_command = {                                                   \
		.name = command_name,                                                              \
		.args = "[FILE...]",                                                             \
		.summary = text,                                                                   \
		.group = "OSv guests",                                                             \
		.details = more,                                                                   \
		.examples = sample,                                                                \
		.options = table,                                                                  \
		.run = run_##ident,                                                                \
	}

PROF_COMMAND(prof, "prof", named, "Where samples were hit: a tree of call paths.",
	     "Every sample with a backtrace counts once.",
	     "  hostrace prof -e loader.elf tracefile\n  hostrace prof -t sampler_tick -S -r");
PROF_COMMAND(
	prof_timed, "prof-timed", named, "Time in a timed tracepoint, by call path.",
	"NAME begins with the sample NAME and ends with NAME_ret or NAME_err in the same thread.",
	"  hostrace prof-timed -t vfs_pwritev -e loader.elf tracefile");
PROF_COMMAND(prof_wait, "prof-wait", plain, "Time that threads waited, by call path.", NULL,
	     "  hostrace prof-wait -g thread --min-duration 1ms -S tracefile");
PROF_COMMAND(prof_lock, "prof-lock", plain, "Time that threads waited for mutexes, by call path.",
	     NULL, "  hostrace prof-lock -L -S tracefile");
PROF_COMMAND(prof_idle, "prof-idle", plain,
	     "What threads waited in while their CPU had nothing to do.", NULL,
	     "  hostrace prof-idle -S tracefile");
PROF_COMMAND(
	prof_flame, "prof-flame", named, "Folded stacks, for flame graphs.",
	"Each line is \"outermost;...;innermost HITS\", as flamegraph.pl and speedscope read it.",
	"  hostrace prof-flame -S tracefile | flamegraph.pl > flame.svg");
