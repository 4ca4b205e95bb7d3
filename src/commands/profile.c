// SPDX-License-Identifier: GPL-2.0-or-later
/* profile: hits by call path; with --host, guest code from the host's events alone. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "commands/common/folded_run.h"
#include "commands/common/reports.h"
#include "commands/common/sample_run.h"
#include "commands/profile_live.h"
#include "reports/reports.h"

static const char *tracepoint, *by;
static bool host, causes;

/* clang-format off */
static const struct option_row own_options[] = {
	{0,   "host",         OPT_FLAG, &host,       NULL,   "profile guest code by the instruction pointers in the host's events"},
	{0,   "causes-exits", OPT_FLAG, &causes,     NULL,   "with --host: show which guest code causes exits, and their latency"},
	{0,   "by",           OPT_TEXT, &by,         "KEY[,KEY]", "with --host: one tree per vm, vcpu, tid, guest-task or reason; reason implies --causes-exits"},
	{'t', "tracepoint",   OPT_TEXT, &tracepoint, "NAME", "without --host: only events of this name"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {
	own_options,	profile_live_options,	input_rows,	 where_rows, output_file_options,
	compat_options, profile_symbol_options, profile_options, folded_diff_options, NULL,
};

static int keys_parse(struct host_profile_options *o)
{
	static const char *const keys[] = {"vm", "vcpu", "tid", "guest-task", "reason"};
	enum { KEYS = sizeof(keys) / sizeof(keys[0]) };

	for (const char *p = by ? by : ""; *p; p += strspn(p, ",")) {
		int n = (int)strcspn(p, ","), i = 0;

		while (i < KEYS && (strlen(keys[i]) != (size_t)n || strncmp(p, keys[i], (size_t)n)))
			i++;
		if (i == KEYS)
			return fail(-EINVAL,
				    "--by: invalid key '%.*s' (supported: vm, vcpu, tid, "
				    "guest-task, reason)",
				    n, p);
		o->by |= 1u << i; /* HOST_BY_* */
		p += n;
	}
	return 0;
}

/* The folded stacks of one of two recordings. */
static int diff_fold(void *of, FILE *f)
{
	return query_fold(&host_profile_report, of, f);
}

static int run_host(int argc, char **argv)
{
	struct profile_options given = {0};
	struct host_profile_query q = {.causes = causes};
	struct host_profile_options *o = &q.options;
	int kind = -1;

	input_given.where_events = true;
	if (profile_given(&given) || keys_parse(o))
		return command_usage("%s", error_text());
	if (compat_given || tracepoint)
		return command_usage("%s cannot be combined with --host",
				     compat_given ? "--compat" : "--tracepoint");
	if (array_any(given.frames.nr_keys, i, given.frames.key[i] == FRAMES_COMM))
		return command_usage("--sort comm cannot be combined with --host; use --by tid");
	o->frames = given.frames;
	o->tree = given.tree;
	o->by |= given.group == PROFILE_GROUP_THREAD ? HOST_BY_TID
		 : given.group == PROFILE_GROUP_CPU  ? HOST_BY_VCPU
						     : 0;
	if (output_is("folded") || output_is("svg") || output_is("pprof") || folded_diff_given)
		o->frames.caller_oriented = true;
	if (input_given.follow)
		return profile_live_run(argc, argv, o);
	if (folded_diff_given) {
		q.kind = &kind;
		return folded_diff_run(argc, argv, &(const struct folded){diff_fold, &q});
	}
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	return query_run(&host_profile_report, &(struct query){.of = &q},
			 "text json folded svg pprof", false);
}

static int run_profile(int argc, char **argv)
{
	if (host || input_given.follow)
		return run_host(argc, argv);
	if (causes || by || folded_diff_given)
		return command_usage("%s requires --host", causes ? "--causes-exits"
							   : by	  ? "--by"
								  : "--diff");
	return profile_of(argc, argv, PROFILE_HITS, tracepoint);
}

const struct command profile_command = {
	.name = "profile",
	.args = "[FILE...]",
	.summary = "Show where the guest spends its time, even without an agent.",
	.group = "Report",
	.details =
		"With --host no guest agent is needed: each exit, and each sample of\n"
		"'record --sample HZ', contains the guest's instruction pointer. Without --host,\n"
		"every event with a backtrace counts once, as in 'prof'. With --live, a running\n"
		"VM is sampled, and hot symbols of guest and host are printed for each interval.",
	.examples = "  hostrace record --vm web --sample 997 --frames -d 10s\n"
		    "  hostrace profile --host --symbols guest.kallsyms\n"
		    "  hostrace profile --host --symbols vmlinux -f svg -o flame.svg\n"
		    "  hostrace profile --live --vm web --symbols guest.kallsyms\n"
		    "  hostrace profile --host --by reason --symbols guest.kallsyms",
	.options = options,
	.unused = "limit wide",
	.rules = profile_live_rules,
	.run = run_profile,
};
