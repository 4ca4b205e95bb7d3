// SPDX-License-Identifier: GPL-2.0-or-later
/* prof, prof-timed, prof-wait, prof-lock, prof-idle, prof-flame. */
#include <errno.h>

#include "base/error.h"
#include "commands/common/folded_run.h"
#include "commands/common/sample_run.h"
#include "reports/empty.h"

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

struct profile_report {
	struct profile_options opt;
	struct profile_kind kind;
	struct report_needs needs;
	struct calltree *tree; /* while it is written */
};

static int causes_host_open(void *arg, bool (*wants)(const char *event, void *arg),
			    struct reader **ret)
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
	struct wait_causes_input host = {.open = causes_host_open,
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
static void needs_make(enum profile_of of, const char *name, struct report_needs *ret)
{
	static const char sched[] =
		"trace-cmd record -e sched in a Linux guest, or 'hostrace record "
		"--for sched-out' for the VM's threads";

	*ret = (struct report_needs){0};
	if (of == PROFILE_IDLE || (name && !strcmp(name, "sched_wait")))
		*ret = (struct report_needs){.events = "sched_switch,sched_wait", .record = sched};
	else if (name && !strcmp(name, "mutex_lock_wait"))
		*ret = (struct report_needs){
			.events = "contention_begin,mutex_lock_wait,bql_lock",
			.record = "trace-cmd record -e lock in a Linux guest, or 'hostrace record "
				  "--events locks' for QEMU's global mutex"};
	else if (name)
		ret->events = name;
}

/* As folded stacks: of prof-flame those that are not hidden, of the others all. */
static int tree_fold(void *arg, FILE *out)
{
	const struct profile_report *p = arg;

	if (p->kind.stacks)
		call_stacks_print(p->tree, &(struct row_sink){.out = out});
	else
		call_trees_fold(p->tree, p->opt.group != PROFILE_GROUP_NONE,
				p->kind.of != PROFILE_HITS, out);
	return 0;
}

static int tree_write(struct profile_report *p, struct sample_run *run)
{
	const struct folded folded = {
		tree_fold, p, p->kind.stacks ? "prof-flame" : command_now->name,
		.times = p->kind.of != PROFILE_HITS};
	const char *format = run->out.format;

	if (!strcmp(format, "svg") || !strcmp(format, "pprof") ||
	    (!strcmp(format, "folded") && !p->kind.stacks))
		return folded_write(&folded, run->in, run->trace->file, &run->out, &run->sink.nr);
	if (!p->kind.stacks)
		return call_trees_print(p->tree, p->opt.group != PROFILE_GROUP_NONE, &run->sink);
	call_stacks_print(p->tree, &run->sink);
	return 0;
}

static int profile_write(struct sample_run *run, void *arg)
{
	struct profile_report *p = arg;

	p->opt.range = run->range;
	int err = p->kind.causes ? causes_profile(run, &p->opt, &p->tree)
				 : sample_profile(run->trace, &p->opt, &p->tree);

	if (!err)
		err = tree_write(p, run);
	calltree_close(take_ptr(p->tree));
	return err;
}

/* One of two recordings. */
static int profile_fold(void *arg, FILE *out)
{
	struct profile_report *p = arg;
	struct sample_run run;
	int err = sample_run_open_only(false, &run);

	p->opt.range = run.range;
	if (!err)
		err = sample_profile(run.trace, &p->opt, &p->tree);
	if (!err)
		err = tree_fold(p, out);
	calltree_close(take_ptr(p->tree));
	sample_run_close_only(&run);
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

int profile_run(int argc, char **argv, const struct profile_kind *kind)
{
	struct profile_report p = {.opt = {.of = kind->of, .tracepoint = kind->tracepoint},
				   .kind = *kind};
	struct sample_report report = {
		kind->stacks ? "text folded json svg pprof" : "text json folded svg pprof",
		.write = profile_write, .arg = &p};

	if (kind->causes && !input_given.guests.nr)
		return command_usage(
			"--causes requires traces of host and guest: -i HOST --guest FILE");
	if (profile_given(&p.opt) || (kind->stacks && stacks_given(&p.opt)))
		return command_usage("%s", error_text());
	p.opt.frames.caller_oriented |=
		output_is("folded") || output_is("svg") || output_is("pprof");
	if (folded_diff_given)
		return folded_diff_run(argc, argv, &(const struct folded){profile_fold, &p});
	needs_make(kind->of, kind->tracepoint, &p.needs);
	report.needs = p.needs.events ? &p.needs : NULL;
	return sample_report_run(argc, argv, &report);
}

/* ---- for `hostrace report` ---- */

enum { LEVELS_MAX = 100 };

static int answer_make(struct sample_run *run, struct profile_report *p, const char *command,
		       json_t **ret)
{
	struct row_sink sink = {.json = true, .rows = json_array()};
	int err = sample_profile(run->trace, &p->opt, &p->tree);
	json_t *head;

	if (!err)
		err = call_trees_print(p->tree, false, &sink);
	calltree_close(take_ptr(p->tree));
	if (!err && run->in && row_sink_empty(&sink))
		run->more = empty_lines(run->in, p->needs.events ? &p->needs : NULL);
	if (!err) {
		head = sample_run_head(run, command);
		*ret = json_pack("{s:O}", "rows", sink.rows);
		json_object_update(*ret, head);
		json_decref(head);
	}
	json_decref(sink.rows);
	return err;
}

int profile_answer(const char *command, json_t **ret)
{
	bool is_wait = !strcmp(command, "prof-wait");
	struct profile_report p = {.opt = {.of = is_wait ? PROFILE_TIMED : PROFILE_HITS,
					   .tracepoint = is_wait ? "sched_wait" : NULL}};
	struct sample_run run;
	int err = profile_given(&p.opt);

	if (err)
		return err;
	p.opt.tree.max_levels = LEVELS_MAX;
	needs_make(p.opt.of, p.opt.tracepoint, &p.needs);
	err = sample_run_open_only(true, &run);
	p.opt.range = run.range;
	if (!err)
		err = answer_make(&run, &p, command, ret);
	json_decref(run.more);
	sample_run_close_only(&run);
	return err;
}

static int run_prof(int argc, char **argv)
{
	return profile_run(argc, argv, &(struct profile_kind){PROFILE_HITS, tracepoint});
}

static int run_prof_timed(int argc, char **argv)
{
	if (!tracepoint)
		return command_usage("missing tracepoint; name one with -t NAME");
	return profile_run(argc, argv, &(struct profile_kind){PROFILE_TIMED, tracepoint});
}

static int run_prof_wait(int argc, char **argv)
{
	return profile_run(argc, argv,
			   &(struct profile_kind){PROFILE_TIMED, "sched_wait", .causes = causes});
}

static int run_prof_lock(int argc, char **argv)
{
	return profile_run(argc, argv, &(struct profile_kind){PROFILE_TIMED, "mutex_lock_wait"});
}

static int run_prof_idle(int argc, char **argv)
{
	return profile_run(argc, argv, &(struct profile_kind){PROFILE_IDLE});
}

static int run_prof_flame(int argc, char **argv)
{
	return profile_run(argc, argv,
			   &(struct profile_kind){PROFILE_HITS, tracepoint, .stacks = true});
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
