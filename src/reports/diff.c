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
	char name[16]; /* "A"; "A1" if A has several runs */
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
	struct recording *recording; /* as the input's files */
	unsigned int nr_recordings;
	bool tables; /* one of them is a table */
	struct comparison comparison[DIFF_SIDES_MAX - 1]; /* of each further side with the first */
	json_t *notes;
};

static unsigned int nr_comparisons(const struct diff *d)
{
	return d->q->nr_sides - 1;
}

static char side_name(unsigned int side)
{
	return (char)('A' + side);
}

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

		if (s->kind && !r->in)
			r->in = s->result.in;
		if (s->kind && s->result.ops) /* it has just been run */
			err = series_report_end(s);
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

static const char *span_print(const struct recording *r, char *buf, size_t size)
{
	return r->span_ns || !r->is_table ? duration_print(r->span_ns, buf, size)
					  : "of unknown length";
}

/* The notes on one recording, with its letter. */
static void notes_add(const struct recording *r, const char *command, json_t *list)
{
	json_t *head = recording_head(r, command), *text;
	char span[16];
	size_t i;

	caveat_add(list, "%s is %s, %s", r->name, r->options.files.item[0],
		   span_print(r, span, sizeof(span)));
	json_array_foreach (json_object_get(head, "caveats"), i, text)
		caveat_add(list, "%s: %s", r->name, json_string_value(text));
	for (i = 0; i < SERIES_KINDS; i++)
		if (r->kind[i].set && r->kind[i].set->refused)
			caveat_add(
				list,
				"%s: %llu measurements by %s were not counted: more than %d keys",
				r->name, (unsigned long long)r->kind[i].set->refused,
				series_kinds[i].by, SERIES_MAX);
	json_decref(head);
}

static void side_notes(struct diff *d, unsigned int side)
{
	const struct diff_side *s = &d->q->side[side];

	if (s->baseline)
		caveat_add(d->notes, "%c is the baseline %s, %u run%s", side_name(side),
			   s->baseline, s->nr, s->nr > 1 ? "s" : "");
	for (unsigned int i = 0; i < s->nr; i++)
		notes_add(&d->recording[s->first + i], d->q->command, d->notes);
}

static void recording_name(struct recording *r, const struct diff_query *q,
			   const struct diff_side *side, unsigned int number)
{
	char letter = side_name((unsigned int)(side - q->side));

	if (side->nr > 1)
		snprintf(r->name, sizeof(r->name), "%c%u", letter, number - side->first + 1);
	else
		snprintf(r->name, sizeof(r->name), "%c", letter);
}

static const struct diff_side *side_of(const struct diff_query *q, unsigned int number)
{
	const struct diff_side *s = q->side;

	while (number >= s->first + s->nr)
		s++;
	return s;
}

/* Nothing is compared with a time that a recording does not have. */
static int span_check(const struct recording *r)
{
	if (r->is_table || r->span_ns || !input_options_have_window(&r->options))
		return 0;
	return fail(-ENODATA, "%s: it has nothing in the time window", r->options.files.item[0]);
}

static int recording_read(struct recording *r, const struct diff *d, unsigned int number)
{
	const struct diff_side *side = side_of(d->q, number);
	int err;

	recording_name(r, d->q, side, number);
	r->options = *d->q->input;
	if (side->whole)
		r->options.since = r->options.until = r->options.period = (struct time_arg){0};
	r->options.files =
		(struct text_list){.item = {d->q->input->files.item[number]}, .nr = 1};
	err = sets_make(r, d->q);
	if (!err)
		err = kinds_run(r, d->q, false);
	if (err == -EMEDIUMTYPE && d->nr_recordings > 2)
		return fail_hint(err, "a table can be compared with one recording only");
	if (err == -EMEDIUMTYPE)
		return table_read(r);
	return err ? err : span_check(r);
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

/* How many runs of a side have a kind. */
static unsigned int nr_having(const struct diff *d, unsigned int side, unsigned int kind)
{
	const struct diff_side *s = &d->q->side[side];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < s->nr; i++)
		nr += d->recording[s->first + i].kind[kind].set != NULL;
	return nr;
}

/* Do all runs of both sides have it, or none (which is no note)? */
static bool both_have(const struct diff *d, unsigned int other, unsigned int kind)
{
	const unsigned int side[] = {0, other};
	unsigned int nr[2];

	for (unsigned int i = 0; i < 2; i++)
		nr[i] = nr_having(d, side[i], kind);
	if (nr[0] == d->q->side[0].nr && nr[1] == d->q->side[other].nr)
		return true;
	if (nr[0] && nr[1])
		caveat_add(d->notes,
			   "by %s: not compared, only %u of %u recordings have these events",
			   series_kinds[kind].by, nr[0] + nr[1],
			   d->q->side[0].nr + d->q->side[other].nr);
	else if (nr[0] || nr[1])
		caveat_add(d->notes, "by %s: not compared, only %c has these events",
			   series_kinds[kind].by, side_name(nr[0] ? 0 : other));
	return false;
}

/* Two recordings that measured a kind by different events cannot be compared. */
static bool same_analyzer(const struct diff *d, unsigned int other, unsigned int kind)
{
	const struct diff_side *side[] = {&d->q->side[0], &d->q->side[other]};
	const struct recording *first = NULL;

	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int k = 0; k < side[i]->nr; k++) {
			const struct recording *r = &d->recording[side[i]->first + k];
			const struct series_report *s = &r->kind[kind];

			if (!s->analyzer || !s->set->nr)
				continue;
			if (first && strcmp(s->analyzer, first->kind[kind].analyzer) != 0) {
				caveat_add(d->notes, "by %s: not compared, %s has %s and %s has %s",
					   series_kinds[kind].by, first->name,
					   first->kind[kind].analyzer, r->name, s->analyzer);
				return false;
			}
			first = first ? first : r;
		}
	return true;
}

static int kind_compare(struct diff *d, unsigned int other, unsigned int kind)
{
	const struct series_kind *k = &series_kinds[kind];
	struct comparison *c = &d->comparison[other - 1];
	struct series_set *set[2][COMPARE_RUNS_MAX];
	const struct diff_side *side[] = {&d->q->side[0], &d->q->side[other]};

	if ((d->tables && !k->tables) || !both_have(d, other, kind))
		return 0;
	for (unsigned int i = 0; i < 2; i++)
		for (unsigned int n = 0; n < side[i]->nr; n++)
			set[i][n] = d->recording[side[i]->first + n].kind[kind].set;
	if (d->tables && k->rows == ROW_OF_REASON)
		reasons_match(d, *set[0], *set[1]);
	if (d->tables && k->rows == ROW_OF_EVENT)
		events_match(d, *set[0], *set[1]);
	if (!same_analyzer(d, other, kind))
		return 0;
	return comparison_add(c, k->by, set[0], set[1], k->rate, k->latency);
}

/* Each further side with the first: by blocks of the same length, and so often that their level is divided. */
static int diff_compare(struct diff *d)
{
	struct compared_runs runs[DIFF_SIDES_MAX];
	int err = 0;

	for (unsigned int i = 0; i < d->q->nr_sides; i++) {
		runs[i].nr = d->q->side[i].nr;
		for (unsigned int k = 0; k < runs[i].nr; k++)
			runs[i].span_ns[k] = d->recording[d->q->side[i].first + k].span_ns;
	}
	for (unsigned int i = 1; i < d->q->nr_sides && !err; i++) {
		struct comparison *c = &d->comparison[i - 1];

		*c = (struct comparison){.level = LEVEL / nr_comparisons(d),
					 .margin = d->q->margin,
					 .min_share = d->q->min_share,
					 .untested = d->tables};
		comparison_begin(c, &runs[0], &runs[i], comparison_shift(runs, d->q->nr_sides));
		for (unsigned int k = 0; k < SERIES_KINDS && !err; k++)
			err = kind_compare(d, i, k);
		err = err ? err : comparison_end(c);
	}
	return err;
}

int diff_run(const struct diff_query *q, struct diff **ret)
{
	struct diff *d = *ret = calloc(1, sizeof(*d));
	int err = 0;

	if (!d)
		return fail(-ENOMEM, "out of memory");
	d->q = q;
	d->notes = json_array();
	d->nr_recordings = q->input->files.nr;
	d->recording = calloc(d->nr_recordings, sizeof(*d->recording));
	if (!d->recording)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < d->nr_recordings && !err; i++) {
		err = recording_read(&d->recording[i], d, i);
		d->tables |= d->recording[i].is_table;
	}
	for (unsigned int i = 0; d->tables && i < d->nr_recordings && !err; i++)
		err = tables_read(&d->recording[i], q);
	if (err)
		return err;
	for (unsigned int i = 0; i < q->nr_sides; i++)
		side_notes(d, i);
	return diff_compare(d);
}

void diff_close(struct diff *d)
{
	if (!d)
		return;
	for (unsigned int i = 0; i < nr_comparisons(d); i++)
		comparison_free(&d->comparison[i]);
	for (unsigned int i = 0; d->recording && i < d->nr_recordings; i++)
		recording_close(&d->recording[i]);
	free(d->recording);
	json_decref(d->notes);
	free(d);
}

static bool exceeds(const struct comparison *c, double limit, bool only_up)
{
	return array_any(c->nr, i,
			 c->figure[i].changed && (only_up ? c->figure[i].change
							  : fabs(c->figure[i].change)) > limit);
}

bool diff_exceeds(const struct diff *d, double limit, bool only_up)
{
	return array_any(nr_comparisons(d), i, exceeds(&d->comparison[i], limit, only_up));
}

bool diff_strict_failed(const struct diff *d)
{
	return array_any(d->nr_recordings, i,
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

/* "comparison"; of several sides "comparisons". */
static json_t *extra_make(const struct diff *d)
{
	json_t *extra = json_object(), *inputs = json_array(), *list = json_array();

	for (unsigned int i = 0; i < d->nr_recordings; i++) {
		json_t *h = recording_head(&d->recording[i], d->q->command);

		json_array_extend(inputs, json_object_get(h, "inputs"));
		json_decref(h);
	}
	for (unsigned int i = 0; i < nr_comparisons(d); i++)
		json_array_append_new(list, diff_report_totals(&d->comparison[i]));
	json_object_set_new(extra, "inputs", inputs);
	if (nr_comparisons(d) == 1)
		json_object_set(extra, "comparison", json_array_get(list, 0));
	else
		json_object_set(extra, "comparisons", list);
	json_decref(list);
	return extra;
}

static const struct report_needs diff_needs = {
	.events = "kvm_exit,kvm_userspace_exit,kvm_pio,virtqueue_pop", .record = "hostrace record"};

int diff_tree(const struct diff *d, json_t **ret)
{
	const struct diff_table rows = {
		.comparison = d->comparison, .nr = nr_comparisons(d), .all = true};
	struct table t = {0};
	int err = diff_report_table(&rows, &t);

	*ret = NULL;
	if (!err) {
		diff_report_caveats(&rows, false, d->notes);
		*ret = extra_make(d);
		json_object_set(*ret, "caveats", d->notes);
		if (json_object_set_new(*ret, "rows", table_json(&t)))
			err = fail(-ENOMEM, "out of memory");
	}
	table_free(&t);
	return err;
}

int diff_write(const struct diff *d, const struct output *out)
{
	struct diff_table rows = {.comparison = d->comparison, .nr = nr_comparisons(d)};
	const struct recording *of =
		array_find(d->recording, d->nr_recordings, i, !d->recording[i].is_table);
	struct report report = of ? report_of_inputs(of->in, d->q->command, out)
				  : (struct report){.out = out,
						    .command = d->q->command,
						    .wide = out->wide,
						    .note = out->note};
	struct table t = {0};
	char first[128];
	int err;

	rows.all = d->q->all || strcmp(out->format, "text") || d->tables;
	report.answers = diff_report_first_line(&rows, first, sizeof(first)) != NULL;
	if (report.answers) {
		diff_report_caveats(&rows, output_explains(out), d->notes);
		report.first_line = first;
	}
	report.head = diff_head;
	report.foot = caveats_print;
	report.needs = &diff_needs;
	report.caveats = d->notes;
	report.extra = extra_make(d);
	err = report_table_made(&report, diff_report_table(&rows, &t), &t);
	json_decref(report.extra);
	return err;
}
