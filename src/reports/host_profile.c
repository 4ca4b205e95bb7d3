// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Guest code by the instruction pointers in the host's events (analyzers/profile/host_profile.h). Which events there
 * are decides what is profiled: they are counted, and the most likely ones profiled at once. If it is others, all are
 * read once more.
 */
#include <errno.h>

#include "base/error.h"
#include "output/annotate_report.h"
#include "output/samples/samples_output.h"
#include "reports/empty.h"
#include "reports/folded.h"
#include "reports/reports.h"

static const struct report_needs host_needs = {
	.events = "kvm_exit,guest_sample,guest_stack,host_stack",
	.record = "hostrace record --sample 1000",
};

struct host_state {
	struct host_profile_options o;
	struct host_profile_totals totals;
	struct host_profile *profile; /* NULL: it was begun for the wrong events */
	struct calltree *tree;
	struct code_maps *maps; /* of a perf.data: known when all was read */
	struct annotate *annotate; /* NULL: the samples become a tree */
	bool chosen; /* s->o.of is known, and all events are counted */
};

static bool wants_causes(const struct result *r)
{
	const struct host_profile_query *q = r->query->of;

	return q->causes || (q->options.by & HOST_BY_REASON);
}

static void first_open(struct result *r)
{
	const struct host_profile_query *q = r->query->of;
	struct host_state *s = r->state;
	const json_t *meta = r->in->reader->info.meta;

	s->o = q->options;
	s->o.since_ns = r->in->since_ns;
	s->o.until_ns = r->in->until_ns;
	s->totals.sample_hz = (uint64_t)json_integer_value(json_object_get(meta, "sample_hz"));
	s->o.of = wants_causes(r)	? HOST_CAUSES
		  : s->totals.sample_hz ? HOST_CLOCK
					: HOST_INTERRUPT;
}

static int maps_open(struct result *r)
{
	struct host_state *s = r->state;
	int err;

	code_maps_close(s->maps);
	s->maps = NULL;
	err = code_maps_open(&r->in->reader->info, &r->in->options->code, &s->maps);
	s->o.maps = s->maps;
	return err;
}

static int annotate_seen(void *state, const struct event *ev, bool is_host, uint64_t rip)
{
	struct host_state *s = state;

	return is_host ? annotate_host(s->annotate, ev, s->maps) : annotate_guest(s->annotate, rip);
}

static int annotate_begin(struct result *r)
{
	const struct host_profile_query *q = r->query->of;
	struct host_state *s = r->state;

	annotate_free(s->annotate);
	s->annotate = NULL;
	s->o.seen = annotate_seen;
	s->o.seen_arg = s;
	return annotate_new(q->annotate, r->in->reader, &s->annotate);
}

static int host_open(struct result *r)
{
	const struct host_profile_query *q = r->query->of;
	struct host_state *s = r->state;
	int err = 0;

	if (!r->pass) {
		first_open(r);
		err = maps_open(r);
	}
	if (!err && q->annotate)
		err = annotate_begin(r);
	s->o.vms = result_vms(r); /* one VM keeps its pid in the title */
	return err ? err : host_profile_new(r->in->reader, &s->o, &s->profile);
}

static void profile_drop(struct host_state *s)
{
	host_profile_free(s->profile);
	s->profile = NULL;
}

static int host_event(void *state, const struct event *ev)
{
	struct host_state *s = state;
	int err = s->profile ? host_profile_event(s->profile, ev) : 0;

	if (s->chosen)
		return err;
	host_profile_count(&s->o, ev, &s->totals);
	if (err) /* if these are the events, it will be seen again */
		profile_drop(s);
	return 0;
}

/* 1: the profile was begun for others. */
static int host_choose(struct result *r)
{
	const struct host_profile_query *q = r->query->of;
	struct host_state *s = r->state;
	enum host_profile_of guess = s->o.of;
	int err = host_profile_choose(&s->totals, wants_causes(r), &s->o.of);

	if (!err && q->kind && *q->kind >= 0 && *q->kind != (int)s->o.of)
		err = fail_hint(fail(-EINVAL, "the recordings have samples of different kinds"),
				"compare exits with --causes-exits");
	if (q->kind)
		*q->kind = (int)s->o.of;
	s->chosen = !err;
	if (s->o.of != guess)
		profile_drop(s);
	if (!err && s->o.of == HOST_CODE)
		err = maps_open(r);
	return err ? err : !s->profile;
}

static int host_end(struct result *r)
{
	struct host_state *s = r->state;
	int err = s->chosen ? 0 : host_choose(r);

	if (!err)
		err = host_profile_end(s->profile, r->in->reader, &s->totals, &s->tree);
	if (!err && s->annotate) {
		err = annotate_end(s->annotate, s->maps);
		if (s->maps)
			code_maps_caveats(s->maps, &r->in->reader->info);
	}
	return err;
}

static int host_fold(void *state, FILE *out)
{
	const struct host_state *s = state;

	call_trees_fold(s->tree, s->o.by != 0, false, out);
	return 0;
}

static int write_format(struct report *report, const struct host_state *s)
{
	const struct output *out = report->out;
	struct row_sink sink = {.out = out->file, .json = report_is_json(report)};
	int err;

	if (!sink.json && strcmp(out->format, "text"))
		return folded_write(
			&(const struct folded){host_fold, (void *)s,
					       s->o.of == HOST_CODE ? "Host code"
					       : s->totals.host.all
						       ? "Guest and host code"
						       : "Guest code seen from the host"},
			report->inputs, NULL, out, &(uint64_t){0});
	if (out->tree)
		sink.rows = json_array();
	err = call_trees_print(s->tree, s->o.by != 0, &sink);
	if (out->tree) {
		json_t *head = report->head(report);

		*out->tree = json_pack("{s:o}", "rows", sink.rows);
		json_object_update(*out->tree, head);
		json_decref(head);
	} else if (!err && sink.json) {
		row_sink_end(&sink, report->head(report));
	} else if (!err) {
		report->foot(report);
	}
	return err;
}

static int host_write(struct result *r, const struct output *out)
{
	const struct host_state *s = r->state;
	struct report report = result_report(r, out);
	int err;

	report.caveats = host_profile_notes(s->o.of, &s->totals);
	if (!calltree_hits(s->tree) && report.note) /* two recordings are compared without notes */
		report_empty(&report);
	err = write_format(&report, s);
	json_decref(report.caveats);
	return err;
}

static void host_close(struct result *r)
{
	struct host_state *s = r->state;

	annotate_free(s->annotate);
	host_profile_free(s->profile);
	calltree_close(s->tree);
	code_maps_close(s->maps);
}

const struct report_ops host_profile_report = {
	.reads = READ_BEFORE | READ_STACKS,
	.state_bytes = sizeof(struct host_state),
	.wants = host_profile_wants,
	.where_on = host_profile_where_on,
	.needs = &host_needs,
	.open = host_open,
	.event = host_event,
	.end = host_end,
	.write = host_write,
	.close = host_close,
};

/* ---- annotate ---- */

static int annotate_write(struct result *r, const struct output *out)
{
	const struct host_state *s = r->state;
	struct report report = result_report(r, out);
	struct table t = {0};
	char line[512];
	int err;

	report.caveats = host_profile_notes(s->o.of, &s->totals);
	annotate_report_caveats(s->annotate, report.caveats);
	report.extra = annotate_report_functions(s->annotate);
	report.first_line = annotate_report_line(s->annotate, line, sizeof(line));
	err = annotate_report_rows(s->annotate, &t);
	err = report_table_made(&report, err, &t);
	json_decref(report.caveats);
	json_decref(report.extra);
	return err;
}

const struct report_ops annotate_report = {
	.where_rows = true,
	.reads = READ_BEFORE | READ_STACKS,
	.state_bytes = sizeof(struct host_state),
	.wants = host_profile_wants,
	.needs = &host_needs,
	.open = host_open,
	.event = host_event,
	.end = host_end,
	.write = annotate_write,
	.close = host_close,
};
