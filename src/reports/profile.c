// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A profile is a call tree (analyzers/profile/calltree.h) of samples, which are pulled from their source: a pass of
 * several reports cannot feed it. So profile_report wants no events, and reads the inputs when it is written.
 */
#include "reports/profile.h"

#include <errno.h>

#include "base/error.h"
#include "output/folded.h"
#include "readers/osv/osv.h"
#include "reports/empty.h"
#include "reports/folded.h"
#include "reports/reports.h"

static int causes_host_open(void *arg, bool (*wants)(const char *event, void *arg),
			    struct reader **ret)
{
	struct input_set *in = arg;
	const struct input_options *given = in->options;
	struct input_options all = *given;
	int err;

	all.where = NULL;
	all.vcpus.nr = all.tids.nr = all.reasons.nr = all.globs.nr = 0;
	in->options = &all;
	err = input_set_open_all_times(in, wants, NULL);
	in->options = given;
	*ret = in->reader;
	return err;
}

/* The host's events are read while the guest's are: all, as filters select waits, and other threads wake vCPUs. */
static int causes_make(const struct profile_options *opt, const struct sample_source *s,
		       struct calltree **ret, json_t **notes)
{
	_cleanup_input_set_ struct input_set *in = NULL;
	struct wait_causes_input host = {.open = causes_host_open,
					 .nr_sources = s->in->nr_hosts,
					 .foreign = input_set_foreign(s->in)};
	struct wait_sums sums;
	int err = input_set_copy(s->in, &in);

	host.arg = in;
	if (!err)
		err = wait_profile(s->trace, opt, &host, ret, &sums);
	if (!err)
		*notes = wait_profile_notes(&sums);
	return err;
}

int profile_make(const struct profile_query *q, const struct sample_source *s,
		 struct calltree **ret, json_t **notes)
{
	struct profile_options opt = q->opt;

	*notes = NULL;
	opt.range = s->range;
	return q->causes ? causes_make(&opt, s, ret, notes) : sample_profile(s->trace, &opt, ret);
}

struct report_needs profile_needs(const struct profile_query *q)
{
	static const char sched[] =
		"trace-cmd record -e sched in a Linux guest, or 'hostrace record "
		"--for sched-out' for the VM's threads";
	const char *name = q->opt.tracepoint;

	if (q->opt.of == PROFILE_IDLE || (name && !strcmp(name, "sched_wait")))
		return (struct report_needs){.events = "sched_switch,sched_wait", .record = sched};
	if (name && !strcmp(name, "mutex_lock_wait"))
		return (struct report_needs){
			.events = "contention_begin,mutex_lock_wait,bql_lock",
			.record = "trace-cmd record -e lock in a Linux guest, or 'hostrace record "
				  "--events locks' for QEMU's global mutex"};
	return (struct report_needs){.events = name};
}

/* Of prof-flame those that are not hidden, of the others all. */
void profile_fold(const struct profile_query *q, struct calltree *tree, FILE *out)
{
	if (q->stacks)
		call_stacks_print(tree, &(struct row_sink){.out = out});
	else
		call_trees_fold(tree, q->opt.group != PROFILE_GROUP_NONE, q->opt.of != PROFILE_HITS,
				out);
}

struct folding_tree {
	const struct profile_query *q;
	struct calltree *tree;
};

static int tree_fold(void *arg, FILE *out)
{
	const struct folding_tree *f = arg;

	profile_fold(f->q, f->tree, out);
	return 0;
}

int profile_put(const struct profile_query *q, struct calltree *tree, const struct sample_source *s,
		const char *command, const struct output *out, struct row_sink *sink)
{
	struct folding_tree f = {q, tree};
	const struct folded folded = {tree_fold, &f, command, .times = q->opt.of != PROFILE_HITS};
	const char *format = out->format;

	if (!strcmp(format, "svg") || !strcmp(format, "pprof") ||
	    (!strcmp(format, "folded") && !q->stacks))
		return folded_write(&folded, s->in, s->trace->file, out, &sink->nr);
	if (!q->stacks)
		return call_trees_print(tree, q->opt.group != PROFILE_GROUP_NONE, sink);
	call_stacks_print(tree, sink);
	return 0;
}

/* ---- for a page ---- */

static bool wants_nothing(const char *event, void *result)
{
	(void)event;
	(void)result;
	return false;
}

static int profile_ignore(void *state, const struct event *ev)
{
	(void)state;
	(void)ev;
	return 0;
}

static int source_open(const struct result *r, struct sample_source *s)
{
	const char *path = input_options_only_file(r->query->input);
	struct input_set *in;
	int err;

	struct open_files *files = input_set_files(r->in);

	if (path && osv_is_trace(path, files)) {
		err = sample_range_of_osv(r->query->input, false, &s->range);
		return err ? err : sample_source_open_osv(s, path, files);
	}
	err = input_set_copy(r->in, &in);
	return err ? err : sample_source_open(s, in);
}

static int rows_make(const struct profile_query *q, const struct sample_source *s, json_t *rows,
		     json_t **notes)
{
	struct row_sink sink = {.json = true, .rows = rows};
	struct report_needs needs = profile_needs(q);
	struct calltree *tree = NULL;
	int err = profile_make(q, s, &tree, notes);

	if (!err)
		err = call_trees_print(tree, false, &sink);
	calltree_close(tree);
	if (!err && s->in && row_sink_empty(&sink))
		*notes = empty_lines(s->in, needs.events ? &needs : NULL);
	if (!err && s->trace->refused) {
		*notes = *notes ? *notes : json_array();
		json_array_append_new(*notes, json_sprintf(SAMPLES_REFUSED, s->trace->refused));
	}
	return err;
}

static int profile_tree(struct result *r, const struct output *out)
{
	struct sample_source s = {0};
	json_t *notes = NULL, *rows = json_array(), *head;
	int err = source_open(r, &s);

	if (!err)
		err = rows_make(r->query->of, &s, rows, &notes);
	if (!err) {
		head = sample_source_head(&s, r->query->command, notes);
		*out->tree = json_pack("{s:O}", "rows", rows);
		json_object_update(*out->tree, head);
		json_decref(head);
	}
	json_decref(rows);
	json_decref(notes);
	sample_source_close(&s);
	return err;
}

const struct report_ops profile_report = {
	.wants = wants_nothing,
	.event = profile_ignore,
	.write = profile_tree,
};
