// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "analyzers/profile/profile.h"
#include "base/error.h"
#include "base/memory.h"
#include "commands/common/flame_run.h"
#include "commands/common/sample_run.h"
#include "output/samples/samples_output.h"

static int host_open(void *arg, bool (*wants)(const char *event, void *arg), struct reader **ret)
{
	struct input_set *in = arg;
	int err = input_set_open_all_times(in, wants, NULL);

	*ret = in->reader;
	return err;
}

/* The host's events are read while the guest's are. */
static int causes_profile(struct sample_run *run, const struct profile_options *opt,
			  struct calltree **ret)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct wait_causes_input host = {.open = host_open,
					 .nr_sources = run->in->nr_hosts,
					 .foreign = input_set_foreign(run->in)};
	struct wait_sums sums;
	int err = input_set_copy(run->in, &in);

	host.arg = in;
	if (!err)
		err = wait_profile(run->trace, opt, &host, ret, &sums);
	if (!err)
		run->more = wait_profile_notes(&sums);
	return err;
}

/* What each profile is made of, in OSv's names and Linux's. */
static void needs_make(enum profile_of of, const char *tracepoint, struct report_needs *ret)
{
	static const char sched[] =
		"trace-cmd record -e sched in a Linux guest, or 'hostrace record "
		"--for sched-out' for the VM's threads";

	*ret = (struct report_needs){0};
	if (of == PROFILE_IDLE || (tracepoint && !strcmp(tracepoint, "sched_wait")))
		*ret = (struct report_needs){.events = "sched_switch,sched_wait", .record = sched};
	else if (tracepoint && !strcmp(tracepoint, "mutex_lock_wait"))
		*ret = (struct report_needs){
			.events = "contention_begin,mutex_lock_wait,bql_lock",
			.record = "trace-cmd record -e lock in a Linux guest, or 'hostrace record "
				  "--events locks' for QEMU's global mutex"};
	else if (tracepoint)
		ret->events = tracepoint;
}

/* As folded stacks, or what is made of them. */
static int stacks_put(const struct calltree *tree, const struct profile_options *opt,
		      struct sample_run *run)
{
	bool grouped = opt->group != PROFILE_GROUP_NONE, times = opt->of != PROFILE_HITS;
	_cleanup_free_ char *folded = NULL;
	size_t size;
	FILE *f = open_memstream(&folded, &size);

	if (!f)
		return fail(-ENOMEM, "out of memory");
	call_trees_fold(tree, grouped, times, f);
	if (!memstream_close(f, &folded))
		return fail(-ENOMEM, "out of memory");
	run->sink.nr = size;
	if (strcmp(run->out.format, "folded"))
		return flame_run(folded, command_now->name, times, run->in, run->trace->file,
				 &run->out, &run->sink.nr);
	fputs(folded, run->out.file);
	return 0;
}

int profile_run(int argc, char **argv, enum profile_of of, const char *tracepoint, bool causes)
{
	struct profile_options opt = {.of = of, .tracepoint = tracepoint};
	struct calltree *tree = NULL;
	struct report_needs needs;
	struct sample_run run;
	bool stacks = output_is("folded") || output_is("svg") || output_is("pprof");
	int status, err;

	if (causes && !input_given.guests.nr)
		return command_usage(
			"--causes requires traces of host and guest: -i HOST --guest FILE");
	if (profile_given(&opt))
		return command_usage("%s", error_text());
	opt.frames.caller_oriented |= stacks; /* outermost first */
	status = sample_run_open(argc, argv, "text json folded svg pprof", &opt.range, &run);
	if (status != SAMPLE_RUN_BEGUN)
		return status;
	err = causes ? causes_profile(&run, &opt, &tree) : sample_profile(run.trace, &opt, &tree);
	if (!err && stacks)
		err = stacks_put(tree, &opt, &run);
	else if (!err)
		err = call_trees_print(tree, opt.group != PROFILE_GROUP_NONE, &run.sink);
	calltree_close(tree);
	needs_make(of, tracepoint, &needs);
	run.needs = needs.events ? &needs : NULL;
	return sample_run_close(&run, err);
}
