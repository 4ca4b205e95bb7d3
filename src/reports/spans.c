// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A view of an analyzer's spans: exits, ports, heatmap exit-latency, ... An analyzer may have fallbacks, which pair
 * other events where the trace lacks its own: all are run at once, and the first that begins a span is reported.
 * Where it can be, this is done from columns, without events (pairing/fast_path.h). Exits of which none has an end (a
 * recording of kvm_exit without kvm_entry) are counted by their keys.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/condition.h"
#include "base/error.h"
#include "output/event_notes.h"
#include "pairing/run.h"
#include "reports/reports.h"
#include "reports/tool_counts.h"

extern const struct view summary_view, count_view;

struct spans_state {
	const struct view *view;
	const char *by;
	char by_vm[PAIRING_JOBS_MAX][512]; /* the keys of each analyzer with "vm" added, if they are */
	struct pair_analyzer own;
	const struct analyzer *analyzer[PAIRING_JOBS_MAX]; /* the first one, and its fallbacks */
	unsigned int nr;
	struct folding folding[PAIRING_JOBS_MAX];
	struct pairing_job job[PAIRING_JOBS_MAX];
	struct pairing_run run;

	/* The same exits as points, as long as none has had an end. */
	struct analyzer point[PAIRING_JOBS_MAX];
	struct folding count_folding[PAIRING_JOBS_MAX];
	struct pairing_job count[PAIRING_JOBS_MAX];
	bool counts;

	struct condition *where; /* NULL: not given */
	char where_keys[1024];
	const char *keys; /* `by`, with the fields of the condition */
};

static int spans_init(struct result *r)
{
	const struct spans_query *q = r->query->of;
	struct spans_state *s = r->state;
	int err;

	s->view = q->view;
	s->by = q->by;
	s->analyzer[0] = analyzer_find(q->analyzer, &s->own);
	if (!s->analyzer[0])
		return -EINVAL;
	if (r->query->input->where &&
	    (err = condition_parse("--where", r->query->input->where, &s->where)))
		return err;
	s->keys = pairing_where_keys(s->where, s->by, s->where_keys, sizeof(s->where_keys));
	for (const struct analyzer *a = s->analyzer[0]; a;
	     a = analyzer_fallback(s->analyzer[0], s->nr - 1)) {
		s->analyzer[s->nr++] = a;
		if (pairing_needs_before(a, s->keys))
			r->reads |= READ_BEFORE;
		if (analyzer_wants_guests(a))
			r->reads |= READ_GUESTS;
	}
	return 0;
}

static void job_close(struct pairing_job *job)
{
	if (job->state)
		job->fold.close(job->state);
	pairing_close(job->pairing);
}

static void spans_close(struct result *r)
{
	struct spans_state *s = r->state;

	for (unsigned int i = 0; i < s->nr; i++) {
		job_close(&s->job[i]);
		job_close(&s->count[i]);
	}
	condition_free(s->where);
}

static bool spans_wants(const char *event, void *result)
{
	const struct spans_state *s = ((const struct result *)result)->state;

	return array_any(s->nr, i, pairing_wants(s->analyzer[i], s->keys, event));
}

/* The format takes the number, and nothing else. */
static void caveat(json_t *list, const char *fmt, uint64_t n)
{
	if (n)
		json_array_append_new(list, json_sprintf(fmt, n));
}

static void caveat_nested(json_t *list, const struct pair_counts *c)
{
	if (c->nested && c->injects)
		json_array_append_new(
			list, json_sprintf("of these exits %" PRIu64
					   " are of nested guests (L2), %" PRIu64
					   " of them handled by the guest (L1), the others by KVM "
					   "(L0); --by level,handler separates them",
					   c->nested, c->reflected));
	else
		caveat(list,
		       "of these exits %" PRIu64 " are of nested guests (L2); who handled them is "
		       "unknown without kvm_nested_vmexit_inject; --by level separates them",
		       c->nested);
}

static json_t *caveats_of(const struct analyzer *a, const struct pair_counts *c,
			  const struct input_set *in, bool clips, bool explains)
{
	bool window = in->until_ns != UINT64_MAX;
	json_t *list = json_array();

	if (a->caveat && c->spans)
		json_array_append_new(list, json_string(a->caveat));
	if (a->explanation && c->spans && explains)
		json_array_append_new(list, json_string(a->explanation));
	caveat(list, "spans unknown because events were lost: %" PRIu64, c->unknown);
	caveat(list, "spans not counted because events in them may be missing: %" PRIu64, c->gaps);
	if (a->end) {
		caveat(list, "begin events without an end: %" PRIu64, c->unmatched_begin);
		if (!a->ends_repeat)
			caveat(list, "end events without a begin: %" PRIu64, c->unmatched_end);
		caveat(list,
		       "spans ended by a reset, detach or unpop, not counted: %" PRIu64,
		       c->dropped);
		caveat(list,
		       window ? "spans still open at the end of the time window: %" PRIu64
			      : "spans still open at the end of the trace: %" PRIu64,
		       c->open);
		if (!clips)
			caveat(list,
			       "spans that began before the time window, counted whole: %" PRIu64,
			       c->before);
	}
	caveat_nested(list, c);
	caveat(list, "events not counted because their duration was not recorded: %" PRIu64,
	       c->no_duration);
	caveat(list, "accesses whose repetitions were not recorded, counted as one: %" PRIu64,
	       c->no_weight);
	caveat(list, "spans dropped because too many were open at once: %" PRIu64, c->overflow);
	caveat(list, "exits of REP instructions, which may be several accesses each: %" PRIu64,
	       c->repeated);
	if (a->access == EXIT_ACCESS_PORT)
		caveat(list,
		       "exits without a port: %" PRIu64
		       "; their qualification was not recorded (or is that of a byte written to "
		       "port 0)",
		       c->unqualified);
	return list;
}

static bool groups_by(const struct pairing *p, const char *key)
{
	unsigned int nr;
	const struct label *label = pairing_labels(p, &nr);

	return array_any(nr, i, !strcmp(label[i].name, key));
}

/* Rows of a trace of several VMs that are of all VMs. */
static void caveat_several_vms(json_t *list, const struct pairing *p, const struct input_set *in)
{
	unsigned int nr = input_set_nr_vms(in);

	if (nr > 1 && !groups_by(p, "vm") && !groups_by(p, "pid") &&
	    !groups_by(p, "tid"))
		caveat(list,
		       "figures are summed over %" PRIu64
		       " VMs; separate them with --by vm, or select one with --vm",
		       nr);
}

/* Room for the lists of events of all analyzers of a run. */
struct needs {
	struct report_needs report;
	char events[256], ends[256], record[320];
};

static void names_add(char *list, size_t size, const char *names)
{
	size_t len = strlen(list);

	if (names)
		snprintf(list + len, size - len, "%s%s", len ? "," : "", names);
}

/* How to record them: pairs and points by their events, where these are not a guest's. */
static void needs_record(struct needs *n, const struct analyzer *a)
{
	const struct event_type *begin = event_type_named(a->begin),
				*end = a->end ? event_type_named(a->end) : NULL;

	if (a->begin == a->name && strncmp(a->name, "guest:", 6))
		snprintf(n->record, sizeof(n->record), "hostrace record --events %s", a->name);
	else if (strncmp(a->name, "pair:", 5))
		n->report.record_for = a->name;
	else if (begin && begin->id && end && end->id)
		snprintf(n->record, sizeof(n->record), "hostrace record --events %s,%s", a->begin,
			 a->end);
}

static void needs_make(const struct spans_state *s, unsigned int used, struct needs *n)
{
	const struct analyzer *a = s->analyzer[used];

	*n = (struct needs){.record = ""};
	needs_record(n, s->analyzer[0]);
	for (unsigned int i = 0; i < s->nr; i++) {
		n->report.exits |= s->analyzer[i]->access != EXIT_ACCESS_NONE;
		if (!s->analyzer[i]->access || !i)
			names_add(n->events, sizeof(n->events), s->analyzer[i]->begin);
	}
	names_add(n->ends, sizeof(n->ends), a->end);
	n->report.events = n->events;
	n->report.ends = *n->ends ? n->ends : NULL;
	n->report.record = *n->record ? n->record : NULL;
}

/* Exits were counted, and none has a latency. */
static void caveat_no_ends(json_t *list, const struct analyzer *a)
{
	json_array_insert_new(
		list, 0,
		json_sprintf("no latencies: no %s in this trace has its %s; record both kvm_exit "
			     "and kvm_entry: hostrace record --for exit-latency, or trace-cmd "
			     "record -e kvm",
			     a->begin, a->end));
}

/* Which events are used in place of those that the analyzer begins with. NULL: nothing to say. */
static char *fallback_note(const struct result *r, unsigned int used, char *buf, size_t size)
{
	const struct analyzer *a = ((const struct spans_state *)r->state)->analyzer[0];
	bool filtered = input_options_have_filter(r->query->input) ||
			input_options_have_window(r->query->input);

	if (!used || !a->fallback[used - 1].instead)
		return NULL;
	snprintf(buf, size, "no %s %s: %s", a->begin,
		 filtered ? "passes the filters" : "in this trace", a->fallback[used - 1].instead);
	return buf;
}

/* A table of another tool has what these analyzers count, if its rows are of it. */
static int spans_tool(const struct result *r)
{
	static const struct {
		const char *analyzer, *keys;
	} of[] = {{"exit-latency", NULL}, {"pio", "port"}, {"mmio", "mmio"}, {"msr", "msr"}};
	const struct spans_state *s = r->state;
	const struct input_options *o = r->query->input;
	const char *file = r->in->input[0].path, *tool = r->tool->tool, *keys = r->tool->keys;

	if (input_options_have_filter(o) || input_options_have_window(o) || o->where || s->by)
		return fail(-EINVAL,
			    "%s is a table of %s: it cannot be filtered, cut to a time window, or "
			    "grouped by other keys",
			    file, tool);
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++)
		if (!strcmp(s->analyzer[0]->name, of[i].analyzer) &&
		    (!of[i].keys || (keys && !strcmp(keys, of[i].keys))) &&
		    (!strcmp(s->view->name, "summary") || !strcmp(s->view->name, "count")))
			return 0;
	return fail_hint(fail(-EMEDIUMTYPE,
			      "%s is a table of %s, which does not have what '%s' shows", file,
			      tool, r->query->command),
			 "show its counts: hostrace exits %s", file);
}

/* How many spans --where selects; none is an answer. */
static void where_note(const struct spans_state *s, struct report *report,
		       const struct pair_counts *c, char *none, size_t size)
{
	if (!s->where)
		return;
	if (report->ticks)
		caveat_add(report->caveats, "--where compares times in ticks, whatever their unit");
	if (c->spans) {
		caveat_add(report->caveats, "--where selects %" PRIu64 " of %" PRIu64 " spans",
			   c->spans, c->spans + c->not_selected);
	} else if (c->not_selected) {
		where_none_print(s->where, c->not_selected, "span", none, size);
		report_answer_none(report, none);
	}
}

static int spans_write(struct result *result, const struct output *out)
{
	struct spans_state *s = result->state;

	if (result->tool)
		return tool_counts_write(result->tool, result->in->input[0].path,
					 result->query->command, !strcmp(s->view->name, "count"),
					 out);

	unsigned int used = pairing_run_used(&s->run);
	struct pairing_job *job = s->counts ? &s->count[used] : &s->job[used];
	const struct view *view = s->counts ? &count_view : s->view;
	char none[320], text[160], *why = fallback_note(result, used, text, sizeof(text));
	struct report report = result_report(result, out);
	struct needs needs;
	int err;

	needs_make(s, used, &needs);
	report.needs = &needs.report;
	report.caveats = caveats_of(s->counts ? &s->point[used] : s->analyzer[used],
				    pairing_counts(job->pairing), result->in, view->clips,
				    output_explains(out));
	if (s->counts)
		caveat_no_ends(report.caveats, s->analyzer[used]);
	caveat_several_vms(report.caveats, job->pairing, result->in);
	if (!strcmp(s->analyzer[0]->name, "exit-latency"))
		event_notes_add(report.caveats, NOTE_EXITS, result->in);
	if (!strcmp(out->format, "text"))
		report.first_line = why;
	else if (why)
		json_array_insert_new(report.caveats, 0, json_string(why));
	where_note(s, &report, pairing_counts(job->pairing), none, sizeof(none));
	err = view->draw(job->state, &report);
	json_decref(report.caveats);
	return err;
}

/* The keys of an analyzer: rows never add up vCPUs of different VMs. A trace may not say how many VMs it has. */
static const char *keys_of(struct spans_state *s, unsigned int i, unsigned int nr_vms, bool all_vms)
{
	if (nr_vms == 1 || all_vms)
		return s->by;
	return pairing_by_vm(s->analyzer[i], s->by, s->view->by_vm && nr_vms, s->by_vm[i],
			     sizeof(s->by_vm[i]));
}

static int job_open(const struct result *r, const struct analyzer *a, const struct view *view,
		    const char *by, struct folding *f, struct pairing_job *job)
{
	const struct spans_query *q = r->query->of;
	const struct input_set *in = r->in;
	const struct spans_state *s = r->state;
	unsigned int nr_vms = input_set_nr_vms(in);
	int err = pairing_open(a, by, NULL, NULL, &job->pairing);

	if (err)
		return err;
	pairing_set_vms(job->pairing, in->vms);
	*f = (struct folding){.view = view,
			      .analyzer = a,
			      .pairing = job->pairing,
			      .by = by,
			      .link = q->link,
			      .sort = q->sort,
			      .limit = q->limit,
			      .drop_vm = by != s->by && nr_vms < 2,
			      .start_ns = in->reader->info.start_ns,
			      .since_ns = input_set_start_ns(in),
			      .until_ns = in->until_ns,
			      .symbols = r->query->symbols,
			      .regions = nr_vms < 2 ? in->regions : NULL};
	pairing_window(job->pairing, in->since_ns, in->until_ns);
	job->fold = folding_fold(f);
	return s->where ? pairing_where(job->pairing, s->where) : 0;
}

/*
 * Are the exits to be counted if none has an end? By `exits` only: the views of an analyzer are of its spans. What a
 * filter or a time window leaves out may be the ends; a condition may be on what a point does not have.
 */
static bool may_count(const struct result *r)
{
	const struct spans_state *s = r->state;

	return !strcmp(r->query->command, "exits") && s->view == &summary_view && !s->where &&
	       !input_options_have_filter(r->query->input) &&
	       !input_options_have_window(r->query->input);
}

static int count_open(const struct result *r, unsigned int i, const char *by)
{
	struct spans_state *s = r->state;
	struct analyzer *point = &s->point[i];

	*point = *s->analyzer[i];
	point->end = point->mark = point->caveat = point->explanation = NULL;
	return job_open(r, point, &count_view, by, &s->count_folding[i], &s->count[i]);
}

static int spans_open(struct result *r)
{
	struct spans_state *s = r->state;
	int err = 0;

	s->run = (struct pairing_run){.job = s->job, .nr = s->nr};
	for (unsigned int i = 0; i < s->nr && !err; i++) {
		const char *by = keys_of(s, i, input_set_nr_vms(r->in),
					 ((const struct spans_query *)r->query->of)->all_vms);

		err = job_open(r, s->analyzer[i], s->view, by, &s->folding[i], &s->job[i]);
		if (!err && may_count(r))
			err = count_open(r, i, by);
	}
	return err;
}

/* May an exit have an end, as far as the file's index tells? */
static bool may_end(const struct result *r)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));
	const struct spans_state *s = r->state;
	const struct reader *reader = r->in->reader;
	int err = -ENOTSUP;

	if (counts && reader->ops->rows)
		err = reader->ops->rows->counts(r->in->reader, counts);
	else if (counts && reader->ops->counts)
		err = reader->ops->counts(r->in->reader, counts);
	if (!may_count(r) || err)
		return true;
	return array_any(event_types_count(), i,
			 counts[i] && (name_in_list(s->analyzer[0]->end, event_type_at(i)->name) ||
				       !strcmp(event_type_at(i)->name, "kvm_run")));
}

static int spans_columns(struct result *r, bool allowed)
{
	const struct spans_query *q = r->query->of;
	struct spans_state *s = r->state;
	struct pairing_options opt = {.jobs = q->jobs,
				      .no_fast_path = !allowed || s->where || !may_end(r)};
	int err;

	if (pairing_run_columns(&s->run, r->in->reader, &opt))
		return 1;
	err = pairing_run_begin(&s->run);
	for (unsigned int i = 0; i < s->nr && may_count(r) && !err; i++) {
		struct pairing_run count = {.job = &s->count[i], .nr = 1};

		s->counts = true;
		err = pairing_run_begin(&count);
	}
	return err;
}

static int spans_event(void *state, const struct event *ev)
{
	struct spans_state *s = state;
	int err = pairing_run_event(&s->run, ev);

	for (unsigned int i = 0; i < s->nr && s->counts && !err; i++)
		err = pairing_event(s->count[i].pairing, ev);
	if (s->counts && pairing_counts(s->job[pairing_run_used(&s->run)].pairing)->spans)
		s->counts = false;
	return err;
}

/* Not where events that were lost may have been the ends. */
static bool counts_instead(const struct spans_state *s)
{
	unsigned int used = pairing_run_used(&s->run);
	const struct pair_counts *c = pairing_counts(s->job[used].pairing);

	return pairing_counts(s->count[used].pairing)->spans && !c->unknown && !c->gaps;
}

static int spans_end(struct result *r)
{
	struct spans_state *s = r->state;
	struct pairing_job *job = &s->job[pairing_run_used(&s->run)];
	int err;

	if (analyzer_resolve(s->analyzer[0]))
		return fail_usage(-EINVAL, "%s", error_text());
	s->counts = s->counts && counts_instead(s);
	if (s->counts)
		return pairing_end(s->count[pairing_run_used(&s->run)].pairing);
	err = pairing_end(job->pairing);
	if (!err && s->view->clips && !s->where) /* it is on complete spans */
		err = pairing_open_spans(job->pairing, input_set_end_ns(r->in));
	return err;
}

const struct report_ops spans_report = {
	.reads = READ_WINDOW,
	.state_bytes = sizeof(struct spans_state),
	.symbols = true,
	.init = spans_init,
	.wants = spans_wants,
	.open = spans_open,
	.columns = spans_columns,
	.event = spans_event,
	.end = spans_end,
	.tool = spans_tool,
	.write = spans_write,
	.close = spans_close,
};
