// SPDX-License-Identifier: GPL-2.0-or-later
/* profile: hits by call path; with --host, guest code from the host's events alone. */
#include <errno.h>
#include <string.h>

#include "analyzers/profile/host_profile.h"
#include "base/error.h"
#include "commands/common/folded_run.h"
#include "commands/common/reports.h"
#include "commands/common/sample_run.h"
#include "output/samples/samples_output.h"

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
	own_options,	 input_rows, output_file_options, compat_options, profile_symbol_options,
	profile_options, folded_diff_options, NULL,
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

struct host_tree {
	const struct calltree *tree;
	bool grouped;
};

static int host_tree_fold(void *arg, FILE *out)
{
	const struct host_tree *t = arg;

	call_trees_fold(t->tree, t->grouped, false, out);
	return 0;
}

static int host_tree_write(struct host_tree *t, struct output *out, const struct input_set *in,
	       const json_t *more)
{
	struct row_sink sink = {.out = out->file, .json = !strcmp(out->format, "json")};
	uint64_t nr;
	int err;

	if (!sink.json && strcmp(out->format, "text") != 0)
		return folded_write(&(const struct folded){host_tree_fold, t,
							   "Guest code seen from the host"},
				    in, NULL, out, &nr);
	err = call_trees_print(t->tree, t->grouped, &sink);
	if (!err && sink.json)
		row_sink_end(&sink, input_head(in, more));
	else if (!err)
		input_foot(in, more, out->file);
	return err;
}

static const struct report_needs host_needs = {.events = "kvm_exit,guest_sample,guest_stack",
					       .record = "hostrace record --sample 1000"};

/* Twice: which events there are decides what is profiled. */
static int tree_make(struct host_profile_options *o, struct input_set **in, struct calltree **ret,
		     struct host_profile_totals *totals)
{
	int err = input_open_window(false, true, host_profile_wants, NULL, in);

	if (err)
		return err;
	o->since_ns = (*in)->since_ns;
	o->until_ns = (*in)->until_ns;
	err = host_profile_count((*in)->reader, o, totals);
	if (!err)
		err = host_profile_choose(totals, causes || (o->by & HOST_BY_REASON), &o->of);
	if (err)
		return err;
	err = input_set_open_window(*in, true, host_profile_wants, NULL);
	if (!err && input_set_nr_vms(*in) > 1)
		o->vms = (*in)->vms; /* one VM keeps its pid in the title */
	return err ? err : host_profile((*in)->reader, o, ret, totals);
}

static int host_report(struct host_profile_options *o, struct output *out)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct host_profile_totals totals;
	struct calltree *tree = NULL;
	int err = tree_make(o, &in, &tree, &totals);

	if (err)
		return err;
	json_t *more = host_profile_notes(o->of, &totals);

	if (!calltree_hits(tree)) {
		struct report report = report_of(in, out);

		report.needs = &host_needs;
		report.caveats = more;
		report_empty(&report);
	}
	err = host_tree_write(&(struct host_tree){tree, o->by}, out, in, more);
	json_decref(more);
	calltree_close(tree);
	return err;
}

/* Both recordings must be profiled by the same events. */
struct host_diff {
	struct host_profile_options o;
	bool begun;
};

static int diff_fold(void *arg, FILE *out)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct host_diff *d = arg;
	struct host_profile_options o = d->o;
	struct host_profile_totals totals;
	struct calltree *tree = NULL;
	int err = tree_make(&o, &in, &tree, &totals);

	if (!err && d->begun && o.of != d->o.of)
		err = fail_hint(fail(-EINVAL, "the recordings have samples of different kinds"),
				"compare exits with --causes-exits");
	if (!err)
		err = host_tree_fold(&(struct host_tree){tree, o.by}, out);
	d->o.of = o.of;
	d->begun = true;
	calltree_close(tree);
	return err;
}

static int run_host(int argc, char **argv)
{
	struct profile_options given = {0};
	struct host_profile_options o = {0};
	struct output out;

	if (profile_given(&given) || keys_parse(&o))
		return command_usage("%s", error_text());
	if (compat_given || tracepoint)
		return command_usage("%s cannot be combined with --host",
				     compat_given ? "--compat" : "--tracepoint");
	o.frames = given.frames;
	o.tree = given.tree;
	o.by |= given.group == PROFILE_GROUP_THREAD ? HOST_BY_TID
		: given.group == PROFILE_GROUP_CPU  ? HOST_BY_VCPU
						    : 0;
	if (output_is("folded") || output_is("svg") || output_is("pprof") || folded_diff_given)
		o.frames.caller_oriented = true;
	if (folded_diff_given)
		return folded_diff_run(argc, argv,
				       &(const struct folded){diff_fold,
							      &(struct host_diff){.o = o}});
	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (output_open("text json folded svg pprof", &out))
		return command_failed();
	if (host_report(&o, &out)) {
		output_cancel(&out);
		return command_failed();
	}
	return output_close(&out) ? command_failed() : EXIT_FINE;
}

static int run_profile(int argc, char **argv, char **rest)
{
	(void)rest;
	if (host)
		return run_host(argc, argv);
	if (causes || by || folded_diff_given)
		return command_usage("%s requires --host", causes ? "--causes-exits"
							   : by	  ? "--by"
								  : "--diff");
	return profile_run(argc, argv, &(struct profile_kind){PROFILE_HITS, tracepoint});
}

const struct command profile_command = {
	.name = "profile",
	.args = "[FILE...]",
	.summary = "Show where the guest spends its time, even without an agent.",
	.group = "Report",
	.details =
		"With --host no guest agent is needed: each exit, and each sample of\n"
		"'record --sample HZ', contains the guest's instruction pointer. Without --host,\n"
		"every event with a backtrace counts once, as in 'prof'.",
	.examples = "  hostrace record --vm web --sample 997 --frames -d 10s\n"
		    "  hostrace profile --host --symbols guest.kallsyms\n"
		    "  hostrace profile --host --symbols vmlinux -f svg -o flame.svg\n"
		    "  hostrace profile --host --by reason --symbols guest.kallsyms",
	.options = options,
	.unused = "limit wide",
	.rules = profile_rules,
	.run = run_profile,
};
