// SPDX-License-Identifier: GPL-2.0-or-later
/* hostrace diff: what differs between two recordings. */
#include <errno.h>
#include <math.h>

#include "base/array.h"
#include "base/error.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/common/confined.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "commands/common/reports.h"
#include "commands/diff.h"
#include "output/diff_report.h"
#include "reports/tool_counts.h"

static const char *by, *fail_over, *margin = "5%", *min_share = "0.1%";
static bool all;
static uint64_t jobs;

static const double LEVEL = 0.05;

/* clang-format off */
static const struct option_row diff_options[] = {
	{0,   "by",        OPT_TEXT, &by,        "KIND[,KIND]", "compare only these: reason, cause, port, queue, stage, request, task, event"},
	{0,   "all",       OPT_FLAG, &all,       NULL,          "text: also show figures that did not change"},
	{0,   "margin",    OPT_TEXT, &margin,    "PERCENT",     "a change of up to so much is none (default 5%)"},
	{0,   "min-share", OPT_TEXT, &min_share, "PERCENT",     "a change of a latency that takes less than this share of the recording's time is none (default 0.1%)"},
	{0,   "fail-over", OPT_TEXT, &fail_over, "[+]PERCENT",  "exit with status 3 if a figure changed by more; +: only if it grew"},
	{'j', "jobs",      OPT_U64,  &jobs,      "N",           "use N threads (default: one per CPU)"},
	{0},
};
/* clang-format on */

static const struct option_row *const options[] = {input_rows, output_file_options, diff_options,
						   NULL};

enum { KINDS_MAX = 16 };

struct recording {
	char name[8]; /* "A", "B" */
	struct input_options options;
	struct input_set *set;
	uint64_t span_ns;
	struct series_set *series[KINDS_MAX]; /* by index in diff_kinds */
	const char *analyzer[KINDS_MAX];
	bool is_table; /* that another tool printed: `tool`, and no set */
	struct tool_table tool;
};

/* ---- options ---- */

/* "10", "10%" as a part of 1. */
static int percent_parse(const char *option, const char *text, double *ret)
{
	char *end;
	double v = strtod(text, &end);

	end += *end == '%';
	if (end == text || *end || !(v >= 0) || v > 1e6)
		return fail_usage(-EINVAL, "%s: invalid percentage '%s' (expected e.g. 10%%)",
				  option, text);
	*ret = v / 100;
	return 0;
}

/* Numbers of events are compared if nothing else can be, or on demand. */
static bool kind_selected(const struct diff_kind *kind, bool tables)
{
	size_t len = strlen(kind->by);

	if (tables ? !kind->tables : !by && kind->read == diff_read_counts)
		return false;

	for (const char *p = by; p && *p; p += strcspn(p, ","), p += *p == ',')
		if (!strncmp(p, kind->by, len) && (!p[len] || p[len] == ','))
			return true;
	return !by;
}

static int by_check(void)
{
	for (const char *p = by ? by : ""; *p; p += strspn(p, ",")) {
		size_t len = strcspn(p, ",");
		bool known = false;

		for (const struct diff_kind *k = diff_kinds; k->by; k++)
			known |= strlen(k->by) == len && !strncmp(p, k->by, len);
		if (!known)
			return fail_usage(-EINVAL,
					  "--by: unknown kind '%.*s' (supported: reason, cause, "
					  "port, queue, stage, request, task, event)",
					  (int)len, p);
		p += len;
	}
	return 0;
}

/* ---- reading ---- */

static bool is_loss(const char *event, void *arg)
{
	(void)arg;
	return !strcmp(event, "lost");
}

static int ignore(void *arg, const struct event *ev)
{
	(void)arg;
	(void)ev;
	return 0;
}

/* Kinds without analyzer do not read r->set, which has the notes on the recording. */
static int set_read(struct input_set *set)
{
	int err = input_set_open(set, is_loss, NULL);

	return err ? err : reader_each(set->reader, ignore, NULL);
}

static int kind_read(struct recording *r, unsigned int i)
{
	int err = diff_read(&diff_kinds[i], r->set, (unsigned int)(jobs < 1024 ? jobs : 1024),
			    &r->series[i], &r->analyzer[i]);

	if (r->series[i] && r->series[i]->span_ns > r->span_ns)
		r->span_ns = r->series[i]->span_ns;
	return err;
}

static int table_read(struct recording *r)
{
	if (input_options_have_filter(&r->options) || input_options_have_window(&r->options))
		return fail_hint(-EMEDIUMTYPE, "it cannot be filtered or cut to a time window");
	r->is_table = true;
	return tool_table_read(r->options.files.item[0], &r->tool);
}

static int recording_read(struct recording *r)
{
	int err = input_set_new(&r->options, &r->set);

	for (unsigned int i = 0; diff_kinds[i].by && !err; i++)
		if (kind_selected(&diff_kinds[i], false))
			err = kind_read(r, i);
	if (!err && !r->set->reader)
		err = set_read(r->set);
	return err == -EMEDIUMTYPE ? table_read(r) : err;
}

/* One of them is a table: what both can have. */
static int tables_read(struct recording *r)
{
	int err = 0;

	r->span_ns = r->is_table ? r->tool.span_ns : r->span_ns;
	for (unsigned int i = 0; diff_kinds[i].by && !err; i++) {
		if (!kind_selected(&diff_kinds[i], true))
			continue;
		if (r->is_table)
			err = diff_read_table(&diff_kinds[i], &r->tool, &r->series[i]);
		else if (!r->series[i])
			err = kind_read(r, i);
	}
	return err;
}

static void recording_free(struct recording *r)
{
	for (unsigned int i = 0; i < KINDS_MAX; i++)
		series_free(r->series[i]);
	if (r->is_table)
		tool_table_free(&r->tool);
	input_set_close(r->set);
}

static json_t *table_head(const struct recording *r)
{
	json_t *caveats = json_array();

	tool_counts_caveats(&r->tool, caveats);
	return json_pack("{s:[{s:o, s:s}], s:o}", "inputs", "file",
			 json_text(r->options.files.item[0]), "kind", r->tool.tool, "caveats",
			 caveats);
}

/* The notes on one recording, with its letter. */
static void notes_add(const struct recording *r, json_t *list)
{
	json_t *head = r->is_table ? table_head(r) : input_head(r->set, NULL), *text;
	char span[16];
	size_t i;

	caveat_add(list, "%s is %s, %s", r->name, r->options.files.item[0],
		   r->span_ns || !r->is_table ? duration_print(r->span_ns, span, sizeof(span))
			      : "of unknown length");
	json_array_foreach (json_object_get(head, "caveats"), i, text)
		caveat_add(list, "%s: %s", r->name, json_string_value(text));
	for (i = 0; i < KINDS_MAX; i++)
		if (r->series[i] && r->series[i]->refused)
			caveat_add(
				list,
				"%s: %llu measurements by %s were not counted: more than %d keys",
				r->name, (unsigned long long)r->series[i]->refused,
				diff_kinds[i].by, SERIES_MAX);
	json_decref(head);
}

/* ---- the report ---- */

static int compare(struct recording *r, struct comparison *c, json_t *notes)
{
	int err = 0;

	comparison_begin(c, r[0].span_ns, r[1].span_ns);
	for (unsigned int i = 0; diff_kinds[i].by && !err; i++) {
		const struct diff_kind *k = &diff_kinds[i];
		const char *a = r[0].analyzer[i], *b = r[1].analyzer[i];

		if (c->untested && !k->tables)
			continue;
		if (!r[0].series[i] != !r[1].series[i])
			caveat_add(notes, "by %s: not compared, only %s has these events", k->by,
				   r[r[1].series[i] != NULL].name);
		if (!r[0].series[i] || !r[1].series[i])
			continue;
		if (c->untested && k->read)
			caveat_count(notes, "events that only one of them counted, not compared",
				     diff_counts_common(r[0].series[i], r[1].series[i]));
		if (a && b && strcmp(a, b) && r[0].series[i]->nr && r[1].series[i]->nr)
			caveat_add(notes, "by %s: not compared, A has %s and B has %s", k->by, a,
				   b);
		else
			err = comparison_add(c, k->by, r[0].series[i], r[1].series[i], k->rate,
					     k->latency);
	}
	return err ? err : comparison_end(c);
}

/* As input_head(): the notes have those on both recordings. */
static json_t *head(const struct report *r)
{
	json_t *h = r->inputs ? input_head(r->inputs, NULL)
			      : json_pack("{s:{s:s, s:s}}", "hostrace", "version", HOSTRACE_VERSION,
					  "command", command_now->name);

	json_object_set(h, "caveats", r->caveats);
	return h;
}

static json_t *extra_make(const struct recording *r, const struct comparison *c)
{
	json_t *extra = diff_report_totals(c), *inputs = json_array();

	for (unsigned int i = 0; i < 2; i++) {
		json_t *h = r[i].is_table ? table_head(&r[i]) : input_head(r[i].set, NULL);

		json_array_extend(inputs, json_object_get(h, "inputs"));
		json_decref(h);
	}
	json_object_set_new(extra, "inputs", inputs);
	return extra;
}

static const struct report_needs needs = {
	.events = "kvm_exit,kvm_userspace_exit,kvm_pio,virtqueue_pop", .record = "hostrace record"};

static int draw(const struct recording *r, const struct comparison *c, json_t *notes,
		const struct output *out)
{
	bool text = !strcmp(out->format, "text"), shown = all || !text || c->untested;
	const struct input_set *set = !r[0].is_table ? r[0].set : !r[1].is_table ? r[1].set : NULL;
	struct report report =
		set ? report_of(set, out)
		    : (struct report){.out = out, .wide = out->wide, .note = out->note};
	struct table t = {0};
	char first[128];

	if (c->nr)
		diff_report_caveats(c, shown, notes);
	report.head = head;
	report.foot = caveats_print;
	report.needs = &needs;
	report.caveats = notes;
	report.extra = extra_make(r, c);
	report.answers = c->nr != 0;
	if (c->nr)
		report.first_line = diff_report_first_line(c, first, sizeof(first));
	int err = diff_report_table(c, shown, &t);

	if (!err)
		err = report_table(&report, &t, NULL);
	else
		table_free(&t);
	json_decref(report.extra);
	return err;
}

/* Did a figure change by more than --fail-over? */
static bool exceeds(const struct comparison *c, double limit, bool only_up)
{
	return array_any(c->nr, i,
			 c->figure[i].changed && (only_up ? c->figure[i].change
							  : fabs(c->figure[i].change)) > limit);
}

static int report_make(struct recording *r, struct comparison *c, const struct output *out)
{
	json_t *notes = json_array();
	int err = command_confine(output_file());

	for (unsigned int i = 0; i < 2 && !err; i++) {
		err = recording_read(&r[i]);
		c->untested |= r[i].is_table;
	}
	for (unsigned int i = 0; i < 2 && !err; i++) {
		err = c->untested ? tables_read(&r[i]) : 0;
		if (!err)
			notes_add(&r[i], notes);
	}
	if (!err)
		err = compare(r, c, notes);
	if (!err)
		err = draw(r, c, notes, out);
	json_decref(notes);
	return err;
}

static int run(int argc, char **argv)
{
	struct recording r[2] = {{.name = "A"}, {.name = "B"}};
	struct comparison c = {.level = LEVEL};
	bool only_up = fail_over && *fail_over == '+';
	double limit = INFINITY;
	struct output out;

	if (input_add_args(argc, argv, OPTION_LIST_MAX))
		return command_usage("%s", error_text());
	if (input_given.files.nr != 2)
		return command_usage("expected two recordings, found %u", input_given.files.nr);
	if (percent_parse("--margin", margin, &c.margin) ||
	    percent_parse("--min-share", min_share, &c.min_share) ||
	    (fail_over && percent_parse("--fail-over", fail_over + only_up, &limit)) || by_check())
		return command_usage("%s", error_text());
	if (output_open(table_formats, &out))
		return command_failed();
	for (unsigned int i = 0; i < 2; i++) {
		r[i].options = input_given;
		r[i].options.files =
			(struct text_list){.item = {input_given.files.item[i]}, .nr = 1};
	}
	int err = report_make(r, &c, &out);
	bool found = !err && (exceeds(&c, limit, only_up) || input_set_strict_failed(r[0].set));
	int status = report_end(err, &out, r[1].set, found);

	comparison_free(&c);
	recording_free(&r[0]);
	recording_free(&r[1]);
	return status;
}

static const struct option_rule diff_rules[] = {
	{"clock", .with = "guest"},
	{"all", .formats = "text"},
	{"margin", .formats = "text json", .except = "fail-over"},
	{"min-share", .formats = "text json", .except = "fail-over"},
	{0},
};

const struct command diff_command = {
	.name = "diff",
	.args = "A B",
	.summary = "Compare two recordings: rates and latencies that changed.",
	.group = "Report",
	.details =
		"Compares rates and mean durations by exit reason, I/O port and virtqueue. Both\n"
		"recordings are cut into blocks of time of the same length, and the blocks of A "
		"are\n"
		"compared with those of B by a Mann-Whitney test that accounts for their\n"
		"autocorrelation, latencies also by a t-test. What changed is printed, the largest "
		"change first.\n"
		"A table that perf kvm stat, kvm_stat, perf stat or bpftrace printed can be one of "
		"them, or\nboth: its counts by exit reason or event are compared, without a test.",
	.examples = "  hostrace diff before.hrt after.hrt\n"
		    "  hostrace diff before.hrt after.hrt --by reason --fail-over +10%",
	.options = options,
	.unused = "no-guest",
	.rules = diff_rules,
	.run = run,
};
