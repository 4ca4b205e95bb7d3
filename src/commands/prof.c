// SPDX-License-Identifier: GPL-2.0-or-later
/* prof, prof-timed, prof-wait, prof-lock, prof-idle, prof-flame. */
#include <stdio.h>
#include <string.h>

#include "analyzers/causes/wait_causes.h"
#include "base/error.h"
#include "base/units.h"
#include "commands/common/sample_run.h"
#include "commands/common/input.h"

static const char *tracepoint;

/* clang-format off */
static const struct option_row tracepoint_options[] = {
	{'t', "tracepoint", OPT_TEXT, &tracepoint, "NAME", "samples of this tracepoint (its exact name)"},
	{0},
};
/* clang-format on */

static bool causes;

/* clang-format off */
static const struct option_row cause_options[] = {
	{0, "causes", OPT_FLAG, &causes, NULL, "with --guest: what the vCPU did meanwhile: preempted, vmm, device, "
					       "halted, kernel, guest"},
	{0},
};
/* clang-format on */

static const struct option_row *const waits[] = {
	input_rows,	output_file_options, compat_options, cause_options,
	profile_symbol_options, profile_options,     NULL,
};
static const struct option_row *const plain[] = {
	input_rows,	output_file_options, compat_options,
	profile_symbol_options, profile_options,     NULL,
};
static const struct option_row *const named[] = {
	input_rows, output_file_options, compat_options, profile_symbol_options,
	profile_options, tracepoint_options,  NULL,
};

/* ---- --causes ---- */

struct cause_sums {
	struct wait_causes *causes;
	uint64_t ns[CAUSES];
};

static int host_open(void *arg, bool (*wants)(const char *event, void *arg), struct reader **ret)
{
	struct input_set *in = arg;
	int err = input_set_open_all_times(in, wants, NULL);

	*ret = in->reader;
	return err;
}

static unsigned int split(void *arg, const struct sample *s, double start_ns, double ns,
			  struct profile_part ret[PROFILE_PARTS_MAX])
{
	static const char *const frames[CAUSES] = {"[preempted]", "[vmm]",   "[device]", "[halted]",
						   "[kernel]",	  "[guest]", "[unknown]"};
	struct cause_sums *sums = arg;
	uint64_t part[CAUSES], start = (uint64_t)start_ns;
	unsigned int nr = 0;

	wait_causes_of(sums->causes, s->cpu, start, start + (uint64_t)ns, part);
	for (int i = 0; i < CAUSES; i++) {
		sums->ns[i] += part[i];
		if (part[i])
			ret[nr++] = (struct profile_part){frames[i], (double)part[i]};
	}
	if (!nr) /* a wait of no length */
		ret[nr++] = (struct profile_part){frames[CAUSE_UNKNOWN], 0};
	return nr;
}

static json_t *cause_notes(const struct cause_sums *sums)
{
	json_t *more = json_array();
	char text[512] = "", time[32];
	uint64_t all = 0;

	for (int i = 0; i < CAUSES; i++)
		all += sums->ns[i];
	for (int i = 0; i < CAUSES; i++) {
		size_t at = strlen(text);

		snprintf(text + at, sizeof(text) - at, "%s%s %.1f %%", i ? ", " : "",
			 wait_cause_names[i],
			 all ? 100.0 * (double)sums->ns[i] / (double)all : 0.0);
	}
	duration_print_wide((double)all, time, sizeof(time));
	json_array_append_new(
		more, json_sprintf("of %s that threads waited, their vCPU was: %s", time, text));
	json_array_append_new(
		more,
		json_string(wait_causes_sees_devices(sums->causes)
				    ? "device: an element of any virtqueue of the VM was with its "
				      "device, not necessarily the one that the thread waited for"
				    : "the host's recording has no virtqueue elements: waits for "
				      "devices are halted"));
	if (wait_causes_refused(sums->causes))
		json_array_append_new(
			more, json_sprintf("%llu events of the host were not used: too many vCPU "
					   "threads or virtqueue elements in flight",
					   (unsigned long long)wait_causes_refused(sums->causes)));
	return more;
}

static int causes_profile(struct sample_run *run, struct profile_options *opt)
{
	_cleanup_input_set_ struct input_set *in = NULL; /* the run's own is being read */
	struct wait_causes_input host = {.open = host_open, .nr_sources = run->in->nr_hosts};
	struct cause_sums sums = {0};
	struct calltree *tree = NULL;
	int err = input_set_copy(run->in, &in);

	host.arg = in;
	opt->split = split;
	opt->split_arg = &sums;
	if (!err)
		err = wait_causes_open(&host, &sums.causes);
	if (!err)
		err = sample_profile(run->trace, opt, &tree);
	if (!err) {
		call_trees_print(tree, opt->group != PROFILE_GROUP_NONE, &run->sink);
		run->more = cause_notes(&sums);
	}
	calltree_close(tree);
	wait_causes_close(sums.causes);
	return err;
}

int profile_run(int argc, char **argv, enum profile_of of, const char *name)
{
	struct profile_options opt = {.of = of, .tracepoint = name};
	struct calltree *tree = NULL;
	struct sample_run run;
	int status;

	if (causes && !input_given.guests.nr)
		return command_usage("--causes needs both sides: -i HOST --guest FILE");

	if (profile_given(&opt))
		return command_usage("%s", error_text());
	status = sample_run_open(argc, argv, "text json", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	if (causes)
		return sample_run_close(&run, causes_profile(&run, &opt));
	int err = sample_profile(run.trace, &opt, &tree);

	if (!err)
		call_trees_print(tree, opt.group != PROFILE_GROUP_NONE, &run.sink);
	calltree_close(tree);
	return sample_run_close(&run, err);
}

static int run_prof(int argc, char **argv, char **rest)
{
	(void)rest;
	return profile_run(argc, argv, PROFILE_HITS, tracepoint);
}

static int run_prof_timed(int argc, char **argv, char **rest)
{
	(void)rest;
	if (!tracepoint)
		return command_usage("which tracepoint? give -t NAME");
	return profile_run(argc, argv, PROFILE_TIMED, tracepoint);
}

static int run_prof_wait(int argc, char **argv, char **rest)
{
	(void)rest;
	return profile_run(argc, argv, PROFILE_TIMED, "sched_wait");
}

static int run_prof_lock(int argc, char **argv, char **rest)
{
	(void)rest;
	return profile_run(argc, argv, PROFILE_TIMED, "mutex_lock_wait");
}

static int run_prof_idle(int argc, char **argv, char **rest)
{
	(void)rest;
	return profile_run(argc, argv, PROFILE_IDLE, NULL);
}

/* The percentage of --min-hits is of all samples, which only the end tells: not for flames. */
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
		return command_usage("--min-hits takes a number here, not a percentage");
	opt.symbols = p.symbols;
	opt.frames = p.frames;
	status = sample_run_open(argc, argv, "text folded json", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = flame_open(run.trace, &opt, &flame);
	if (!err)
		flame_print(flame, p.tree.min_hits, &run.sink);
	flame_close(take_ptr(flame));
	return sample_run_close(&run, err);
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
PROF_COMMAND(prof_wait, "prof-wait", waits, "Time that threads waited, by call path.", NULL,
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
