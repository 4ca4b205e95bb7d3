// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Each recording is measured by kind (series.h) in as few passes as possible, and the series of both are compared
 * (analyzers/compare/compare.h). A kind of which only one recording has events is not compared, and neither is one that
 * was measured by different events.
 */
#include "reports/diff.h"

#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "base/version.h"
#include "output/diff_report.h"
#include "reports/head.h"
#include "reports/series.h"
#include "reports/tool_counts.h"

static const double LEVEL = 0.05;

struct recording {
	char name; /* 'A', 'B' */
	struct input_options options;
	struct input_set *plain, *merged; /* not open */
	const struct input_set *in;	  /* that was read */
	struct result_sets sets;
	struct series_report kind[SERIES_KINDS];
	uint64_t span_ns;
	bool is_table; /* that another tool printed: `tool`, and no inputs */
	struct tool_table tool;
};

struct diff {
	const struct diff_query *q;
	struct recording recording[2];
	struct comparison comparison;
	json_t *notes;
};

/* ---- the kinds that are compared ---- */

/* With tables what both can have. Numbers of events are compared if nothing else can be, or on demand. */
static bool kind_selected(const struct diff_query *q, const struct series_kind *kind, bool tables)
{
	if (tables ? !kind->tables : !q->by && kind == &series_kinds[SERIES_OF_EVENTS])
		return false;
	return !q->by || name_in_list(q->by, kind->by);
}

int diff_by_check(const char *by)
{
	for (const char *p = by ? by : ""; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ",");

		if (!array_any(SERIES_KINDS, i,
			       strlen(series_kinds[i].by) == len &&
				       !strncmp(p, series_kinds[i].by, len)))
			return fail_usage(-EINVAL,
					  "--by: unknown kind '%.*s' (supported: reason, cause, "
					  "port, queue, stage, request, task, event)",
					  (int)len, p);
		p += len;
	}
	return 0;
}

/* ---- one recording ---- */

static int sets_make(struct recording *r, const struct diff_query *q)
{
	int err = input_set_new(&r->options, &r->plain);

	if (!err)
		err = input_set_new(&r->options, &r->merged);
	if (!err && kind_selected(q, &series_kinds[SERIES_KINDS - 1], false)) /* the guest's tasks */
		input_set_add_companions(r->merged, q->note);
	r->sets = (struct result_sets){.plain = r->plain, .merged = r->merged};
	return err;
}

/* Those that have not been run yet. */
static int kinds_run(struct recording *r, const struct diff_query *q, bool tables)
{
	struct result *list[SERIES_KINDS];
	unsigned int nr = 0;
	int err = 0;

	for (unsigned int i = 0; i < SERIES_KINDS && !err; i++) {
		if (r->kind[i].kind || !kind_selected(q, &series_kinds[i], tables))
			continue;
		r->kind[i].query = (struct query){.command = q->command, .input = &r->options};
		err = series_report_init(&r->kind[i], &series_kinds[i], q->jobs);
		list[nr++] = &r->kind[i].result;
	}
	if (!err)
		err = reports_run(list, nr, &r->sets);
	for (unsigned int i = 0; i < SERIES_KINDS && !err; i++) {
		struct series_report *s = &r->kind[i];

		if (s->kind && !s->set)
			err = series_report_end(s);
		if (s->kind && !r->in)
			r->in = s->result.in;
		if (s->set && s->set->span_ns > r->span_ns)
			r->span_ns = s->set->span_ns;
	}
	return err;
}

static int table_read(struct recording *r)
{
	if (input_options_have_filter(&r->options) || input_options_have_window(&r->options))
		return fail_hint(-EMEDIUMTYPE, "it cannot be filtered or cut to a time window");
	r->is_table = true;
	return tool_table_read(r->options.files.item[0], NULL, &r->tool);
}

/* One of them is a table: what both can have. */
static int tables_read(struct recording *r, const struct diff_query *q)
{
	int err = 0;

	if (!r->is_table)
		return kinds_run(r, q, true);
	r->span_ns = r->tool.span_ns;
	for (unsigned int i = 0; i < SERIES_KINDS && !err; i++)
		if (kind_selected(q, &series_kinds[i], true))
			err = series_report_table(&r->kind[i], &series_kinds[i], &r->tool);
	return err;
}

/* New reference. */
static json_t *recording_head(const struct recording *r, const char *command)
{
	json_t *caveats;

	if (!r->is_table)
		return inputs_head(r->in, command, NULL);
	caveats = json_array();
	tool_counts_caveats(&r->tool, caveats);
	return json_pack("{s:[{s:o, s:s}], s:o}", "inputs", "file",
			 json_text(r->options.files.item[0]), "kind", r->tool.tool, "caveats",
			 caveats);
}

/* The notes on one recording, with its letter. */
static void notes_add(const struct recording *r, const char *command, json_t *list)
{
	json_t *head = recording_head(r, command), *text;
	char span[16];
	size_t i;

	caveat_add(list, "%c is %s, %s", r->name, r->options.files.item[0],
		   r->span_ns || !r->is_table ? duration_print(r->span_ns, span, sizeof(span))
					      : "of unknown length");
	json_array_foreach (json_object_get(head, "caveats"), i, text)
		caveat_add(list, "%c: %s", r->name, json_string_value(text));
	for (i = 0; i < SERIES_KINDS; i++)
		if (r->kind[i].set && r->kind[i].set->refused)
			caveat_add(
				list,
				"%c: %llu measurements by %s were not counted: more than %d keys",
				r->name, (unsigned long long)r->kind[i].set->refused,
				series_kinds[i].by, SERIES_MAX);
	json_decref(head);
}

static int recording_read(struct recording *r, const struct diff *d, unsigned int number)
{
	int err;

	r->name = (char)('A' + number);
	r->options = *d->q->input;
	r->options.files =
		(struct text_list){.item = {d->q->input->files.item[number]}, .nr = 1};
	err = sets_make(r, d->q);
	if (!err)
		err = kinds_run(r, d->q, false);
	return err == -EMEDIUMTYPE ? table_read(r) : err;
}

static void recording_close(struct recording *r)
{
	for (unsigned int i = 0; i < SERIES_KINDS; i++)
		series_report_close(&r->kind[i]);
	if (r->is_table)
		tool_table_free(&r->tool);
	result_sets_close(&r->sets);
	input_set_close(r->plain);
	input_set_close(r->merged);
}

/* ---- both ---- */

/* Does it lack rows: has it the largest ones only, or was it cut? */
static bool lacks_rows(const struct recording *r)
{
	const struct tool_table *t = &r->tool;

	return r->is_table && (!strcmp(t->tool, "kvm_stat") || t->total_differs || t->parts ||
			       t->cut || t->dropped);
}

/* Without the total of a table that lacks rows, shares can only be those of the rows that both have. */
static void reasons_match(struct diff *d, struct series_set *a, struct series_set *b)
{
	const struct recording *r = d->recording;
	bool lacks_a = lacks_rows(&r[0]), lacks_b = lacks_rows(&r[1]),
	     common = (lacks_a && !a->total) || (lacks_b && !b->total);
	unsigned int dropped = lacks_a || common ? series_drop_unknown(b, a) : 0;

	dropped += lacks_b || common ? series_drop_unknown(a, b) : 0;
	if (common) {
		a->total = b->total = 0;
		caveat_add(d->notes, "shares of exit reasons are of those that both have: a table "
				     "lacks rows, and does not state its total");
	}
	caveat_count(d->notes,
		     "exit reasons that are not in both, not compared: a screen of kvm_stat has "
		     "those at the top only, or rows of a table are missing",
		     dropped);
}

/* Shares are of each table's total if both state it. */
static void events_match(struct diff *d, struct series_set *a, struct series_set *b)
{
	bool stated = a->total && b->total;

	a->total = stated ? a->total : 0;
	b->total = stated ? b->total : 0;
	caveat_count(d->notes,
		     stated ? "events that only one of them counted, not compared"
			    : "events that only one of them counted, not compared, and not part "
			      "of the shares",
		     series_keep_common(a, b));
}

static int diff_compare(struct diff *d)
{
	const struct recording *r = d->recording;
	int err = 0;

	comparison_begin(&d->comparison, r[0].span_ns, r[1].span_ns);
	for (unsigned int i = 0; i < SERIES_KINDS && !err; i++) {
		const struct series_kind *k = &series_kinds[i];
		const struct series_report *a = &r[0].kind[i], *b = &r[1].kind[i];

		if (d->comparison.untested && !k->tables)
			continue;
		if (!a->set != !b->set)
			caveat_add(d->notes, "by %s: not compared, only %c has these events", k->by,
				   r[b->set != NULL].name);
		if (!a->set || !b->set)
			continue;
		if (d->comparison.untested && k->rows == ROW_OF_REASON)
			reasons_match(d, a->set, b->set);
		if (d->comparison.untested && k->rows == ROW_OF_EVENT)
			events_match(d, a->set, b->set);
		if (a->analyzer && b->analyzer && strcmp(a->analyzer, b->analyzer) &&
		    a->set->nr && b->set->nr)
			caveat_add(d->notes, "by %s: not compared, A has %s and B has %s", k->by,
				   a->analyzer, b->analyzer);
		else
			err = comparison_add(&d->comparison, k->by, a->set, b->set, k->rate,
					     k->latency);
	}
	return err ? err : comparison_end(&d->comparison);
}

int diff_run(const struct diff_query *q, struct diff **ret)
{
	struct diff *d = *ret = calloc(1, sizeof(*d));
	int err = 0;

	if (!d)
		return fail(-ENOMEM, "out of memory");
	d->q = q;
	d->comparison = (struct comparison){
		.level = LEVEL, .margin = q->margin, .min_share = q->min_share};
	d->notes = json_array();
	for (unsigned int i = 0; i < 2 && !err; i++) {
		err = recording_read(&d->recording[i], d, i);
		d->comparison.untested |= d->recording[i].is_table;
	}
	for (unsigned int i = 0; i < 2 && !err; i++) {
		err = d->comparison.untested ? tables_read(&d->recording[i], q) : 0;
		if (!err)
			notes_add(&d->recording[i], q->command, d->notes);
	}
	return err ? err : diff_compare(d);
}

void diff_close(struct diff *d)
{
	if (!d)
		return;
	comparison_free(&d->comparison);
	recording_close(&d->recording[0]);
	recording_close(&d->recording[1]);
	json_decref(d->notes);
	free(d);
}

bool diff_exceeds(const struct diff *d, double limit, bool only_up)
{
	const struct comparison *c = &d->comparison;

	return array_any(c->nr, i,
			 c->figure[i].changed && (only_up ? c->figure[i].change
							  : fabs(c->figure[i].change)) > limit);
}

bool diff_strict_failed(const struct diff *d)
{
	return array_any(2, i,
			 !d->recording[i].is_table &&
				 input_set_strict_failed(d->recording[i].in));
}

/* ---- the result ---- */

/* As inputs_head(): the notes have those on both recordings. */
static json_t *diff_head(const struct report *r)
{
	json_t *h = r->inputs ? inputs_head(r->inputs, r->command, NULL)
			      : json_pack("{s:{s:s, s:s}}", "hostrace", "version", HOSTRACE_VERSION,
					  "command", r->command);

	json_object_set(h, "caveats", r->caveats);
	return h;
}

static json_t *extra_make(const struct diff *d)
{
	json_t *extra = diff_report_totals(&d->comparison), *inputs = json_array();

	for (unsigned int i = 0; i < 2; i++) {
		json_t *h = recording_head(&d->recording[i], d->q->command);

		json_array_extend(inputs, json_object_get(h, "inputs"));
		json_decref(h);
	}
	json_object_set_new(extra, "inputs", inputs);
	return extra;
}

static const struct report_needs diff_needs = {
	.events = "kvm_exit,kvm_userspace_exit,kvm_pio,virtqueue_pop", .record = "hostrace record"};

int diff_write(const struct diff *d, const struct output *out)
{
	const struct comparison *c = &d->comparison;
	const struct recording *of = array_find(d->recording, 2, i, !d->recording[i].is_table);
	struct report report = of ? report_of_inputs(of->in, d->q->command, out)
				  : (struct report){.out = out,
						    .command = d->q->command,
						    .wide = out->wide,
						    .note = out->note};
	bool all = d->q->all || strcmp(out->format, "text") || c->untested;
	struct table t = {0};
	char first[128];
	int err;

	if (c->nr)
		diff_report_caveats(c, all, output_explains(out), d->notes);
	report.head = diff_head;
	report.foot = caveats_print;
	report.needs = &diff_needs;
	report.caveats = d->notes;
	report.extra = extra_make(d);
	report.answers = c->nr != 0;
	if (c->nr)
		report.first_line = diff_report_first_line(c, first, sizeof(first));
	err = report_table_made(&report, diff_report_table(c, all, &t), &t);
	json_decref(report.extra);
	return err;
}
