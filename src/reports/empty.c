// SPDX-License-Identifier: GPL-2.0-or-later
/* Counts what the trace holds and which filter excludes it, then chooses the sentences. */
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/order.h"
#include "input/input_set.h"
#include "reports/empty.h"

enum { KINDS_SHOWN = 6, REASONS_SHOWN = 8, IDS_SHOWN = 12, LINE_BYTES = 1024 };

/* A line of the explanation that is put together part by part. */
struct line {
	char text[LINE_BYTES];
	size_t len;
};

static void __attribute__((format(printf, 2, 3))) put(struct line *l, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(l->text + l->len, sizeof(l->text) - l->len, fmt, ap);
	va_end(ap);
	l->len += n > 0 ? (size_t)n : 0;
	if (l->len >= sizeof(l->text))
		l->len = sizeof(l->text) - 1;
}

static void line_add(json_t *list, struct line *l)
{
	text_sanitize(l->text);
	json_array_append_new(list, json_string(l->text));
}

/* ---- what the trace holds ---- */

/* The most frequent kinds: "12 kvm_exit, 11 kvm_entry and 3 other kinds". */
static void put_kinds(struct line *l, const uint64_t *counts)
{
	_cleanup_free_ uint64_t *left = calloc(EVENT_TYPES_MAX, sizeof(*left));
	unsigned int nr = event_types_count(), others = 0;

	if (!left)
		return;
	for (unsigned int i = 0; i < nr; i++) /* records with other fields have another type of this name */
		left[event_type_named(event_type_at(i)->name)->index] += counts[i];
	for (unsigned int shown = 0; shown < KINDS_SHOWN; shown++) {
		unsigned int most = 0;

		for (unsigned int i = 1; i < nr; i++)
			most = left[i] > left[most] ? i : most;
		if (!left[most])
			return;
		put(l, "%s%" PRIu64 " %s", shown ? ", " : "", left[most],
		    event_type_at(most)->name);
		left[most] = 0;
	}
	for (unsigned int i = 0; i < nr; i++)
		others += left[i] > 0;
	if (others)
		put(l, " and %u other kind%s", others, others > 1 ? "s" : "");
}

static int by_count(const void *a, const void *b)
{
	const struct survey_reason *x = a, *y = b;

	return order_u64(y->count, x->count) ?: strcmp(x->name, y->name);
}

static void put_reasons(struct line *l, struct survey *s)
{
	qsort(s->reason, s->nr_reasons, sizeof(s->reason[0]), by_count);
	for (unsigned int i = 0; i < s->nr_reasons && i < REASONS_SHOWN; i++)
		put(l, "%s%s (%" PRIu64 ")", i ? ", " : "", s->reason[i].name, s->reason[i].count);
	if (s->nr_reasons > REASONS_SHOWN)
		put(l, " and %u more", s->nr_reasons - REASONS_SHOWN);
}

static void put_vcpus(struct line *l, const struct survey *s)
{
	unsigned int nr = 0;

	for (unsigned int i = 0; i < SURVEY_VCPUS - 1; i++)
		if (s->vcpu[i] && nr++ < IDS_SHOWN)
			put(l, "%s%u", nr > 1 ? ", " : "the trace has vCPU ", i);
	put(l, "%s", !nr ? "no event of the trace has a vCPU" : nr > IDS_SHOWN ? ", ..." : "");
}

static void put_tids(struct line *l, const struct survey *s)
{
	for (unsigned int i = 0; i < s->nr_tids && i < IDS_SHOWN; i++)
		put(l, "%s%u", i ? ", " : "the trace has thread ", s->tid[i]);
	put(l, "%s", s->nr_tids > IDS_SHOWN ? ", ..." : "");
}

/* ---- the filters ---- */

static void put_list(struct line *l, const char *name, const struct text_list *list)
{
	for (unsigned int i = 0; i < list->nr; i++)
		if (i)
			put(l, ",%s", list->item[i]);
		else
			put(l, " --%s %s", name, list->item[i]);
}

static void put_numbers(struct line *l, const char *name, const struct number_list *list)
{
	for (unsigned int i = 0, last; i < list->nr; i = last + 1) {
		for (last = i; last + 1 < list->nr && list->item[last + 1] == list->item[last] + 1;)
			last++;
		if (i)
			put(l, ",%u", list->item[i]);
		else
			put(l, " --%s %u", name, list->item[i]);
		if (last > i)
			put(l, "-%u", list->item[last]);
	}
}

static void put_text(struct line *l, const char *name, const char *text)
{
	if (text)
		put(l, " --%s %s", name, text);
}

static void put_filter(struct line *l, const struct input_options *o, enum survey_filter f)
{
	switch (f) {
	case SURVEY_TIME:
		put_text(l, "since", o->since.text);
		put_text(l, "until", o->until.text);
		put_text(l, "period", o->period.text);
		break;
	case SURVEY_VCPU:
		put_numbers(l, "vcpu", &o->vcpus);
		break;
	case SURVEY_TID:
		put_numbers(l, "tid", &o->tids);
		break;
	case SURVEY_EVENT:
		put_list(l, "event", &o->globs);
		break;
	case SURVEY_REASON:
		put_list(l, "reason", &o->reasons);
		break;
	case SURVEY_WHERE:
		if (o->where_events && o->where)
			put(l, " --where '%s'", o->where);
		break;
	case SURVEY_FILTERS:
		break;
	}
}

static void put_filters(struct line *l, const struct input_options *o)
{
	for (enum survey_filter f = 0; f < SURVEY_FILTERS; f++)
		put_filter(l, o, f);
	put_list(l, "vm", &o->vms);
}

static bool is_given(const struct input_options *o, enum survey_filter f)
{
	struct line l = {.len = 0};

	put_filter(&l, o, f);
	return l.len;
}

static void put_instead(struct line *l, struct survey *s, enum survey_filter f)
{
	switch (f) {
	case SURVEY_TIME:
		put(l, "the trace spans %.9f s", (double)(s->end_ns - s->start_ns) / 1e9);
		break;
	case SURVEY_VCPU:
		put_vcpus(l, s);
		break;
	case SURVEY_TID:
		put_tids(l, s);
		break;
	case SURVEY_REASON:
		put(l, s->nr_reasons ? "the trace has exits for "
				     : "the trace has no exits; it holds ");
		if (s->nr_reasons)
			put_reasons(l, s);
		else
			put_kinds(l, s->counts);
		break;
	case SURVEY_EVENT:
	case SURVEY_WHERE:
	case SURVEY_FILTERS:
		put(l, "the trace holds ");
		put_kinds(l, s->counts);
		break;
	}
}

/* Filters that match no event of the trace, even alone. False: there is none. */
static bool filters_blame(json_t *list, const struct input_options *o, struct survey *s)
{
	bool any = false;

	for (enum survey_filter f = 0; f < SURVEY_FILTERS; f++) {
		struct line l = {.len = 0};

		if (!is_given(o, f) || s->matches[f])
			continue;
		put(&l, "no events match");
		put_filter(&l, o, f);
		put(&l, "; ");
		put_instead(&l, s, f);
		line_add(list, &l);
		any = true;
	}
	return any;
}

/* ---- what the report is made of ---- */

/* "kvm_pio, qemu_pio or kvm_exit" */
static void put_names(struct line *l, const char *names)
{
	for (const char *p = names; *p; p += *p == ',') {
		size_t len = strcspn(p, ",");

		if (p > names)
			put(l, strchr(p, ',') ? ", " : " or ");
		put(l, "%.*s", (int)len, p);
		p += len;
	}
}

/* "212 sched_switch, 3 sched_wait": of the names, those that pass the filters. */
static void put_needed(struct line *l, const char *names, const struct survey *s)
{
	bool any = false;

	for (const char *p = names; *p; p += strcspn(p, ","), p += *p == ',') {
		char name[EVENT_NAME_MAX];
		uint64_t nr;

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		nr = survey_count(s, name, true);
		if (nr)
			put(l, "%s%" PRIu64 " %s", any ? ", " : "", nr, name);
		any |= nr > 0;
	}
}

/* What the recording says of the probes of these events; false: they were not asked for. */
static bool explain_probes(json_t *list, const char *names, const struct survey *s)
{
	struct line l = {.len = 0};
	const char *absent = NULL, *why = NULL;
	const json_t *probe;
	size_t i;

	json_array_foreach (s->probes, i, probe) {
		const char *event = json_string_value(json_object_get(probe, "event"));
		const char *how = json_string_value(json_object_get(probe, "how"));

		if (!event || !how || !trim_name_matches(names, event))
			continue;
		if (strcmp(how, "absent")) {
			put(&l, "%s was recorded, and did not occur%s", event,
			    s->ring ? " in the time that the ring (--ring) kept" : "");
			line_add(list, &l);
			return true;
		}
		absent = event;
		why = json_string_value(json_object_get(probe, "reason"));
	}
	if (!absent)
		return false;
	put(&l, "%s could not be recorded%s%s", absent, why && *why ? ": " : "", why ? why : "");
	line_add(list, &l);
	return true;
}

/* How to record events that the trace does not have, unless it says why it has none. */
static void explain_record(json_t *list, const struct report_needs *needs, const char *names,
			   const struct survey *s)
{
	struct line l = {.len = 0};

	if (explain_probes(list, names, s) || (!needs->record && !needs->record_for) ||
	    (needs->others && survey_count(s, needs->others, false)))
		return;
	put(&l, "to record them: %s%s", needs->record_for ? "hostrace record --for " : "",
	    needs->record_for ? needs->record_for : needs->record);
	line_add(list, &l);
}

/* The trace lacks what the report is made of, with or without filters. */
static void explain_absent(json_t *list, const struct report_needs *needs, struct survey *s)
{
	struct line l = {.len = 0};

	put(&l, "the trace has no ");
	put_names(&l, needs->events);
	if (needs->exits && survey_count(s, "kvm_exit", false)) {
		put(&l, ", and no exit for such an access; it has exits for ");
		put_reasons(&l, s);
	} else {
		put(&l, "; it holds ");
		put_kinds(&l, s->counts);
	}
	line_add(list, &l);
	explain_record(list, needs, needs->events, s);
}

/* The events are there, and no row comes of them. */
static void explain_incomplete(json_t *list, const struct report_needs *needs,
			       const struct input_options *o, const struct survey *s)
{
	struct line l = {.len = 0}, f = {.len = 0};
	bool lacks = needs->ends && !survey_count(s, needs->ends, true);

	put_filters(&f, o);
	put(&l, needs->ends ? "no span is complete: " : "no rows: ");
	if (f.len)
		put(&l, "the filters (%s) leave ", f.text + 1);
	else
		put(&l, "the trace has ");
	put_needed(&l, needs->events, s);
	if (needs->ends)
		put(&l, lacks ? " and no " : " and ");
	if (lacks)
		put_names(&l, needs->ends);
	else if (needs->ends)
		put_needed(&l, needs->ends, s);
	line_add(list, &l);
	if (lacks && !survey_count(s, needs->ends, false))
		explain_record(list, needs, needs->ends, s);
}

static void explain_filtered(json_t *list, const struct report_needs *needs,
			     const struct input_options *o, const struct survey *s)
{
	struct line l = {.len = 0}, f = {.len = 0};
	uint64_t nr = 0;

	for (unsigned int i = 0; i < event_types_count(); i++)
		nr += s->selected[i];
	put_filters(&f, o);
	if (!f.len) {
		put(&l, "no rows from the trace, which holds ");
	} else if (nr && needs) {
		put(&l, "no events of this report match (filters:%s): they leave ", f.text);
		put_kinds(&l, s->selected);
		put(&l, "; the trace holds ");
	} else {
		put(&l, "no events match (filters:%s); the trace holds ", f.text);
	}
	put_kinds(&l, s->counts);
	line_add(list, &l);
}

/* Exits for the access may be among those that the filters drop. */
static bool is_filtered_access(const struct report_needs *needs, const struct input_options *o,
			       const struct survey *s)
{
	struct line f = {.len = 0};

	put_filters(&f, o);
	return needs->exits && f.len && survey_count(s, "kvm_exit", false);
}

static void explain_no_events(json_t *list, const struct survey *s)
{
	struct line l = {.len = 0};

	put(&l, "the trace has no events");
	if (s->nr_naming)
		put(&l, ", except %" PRIu64 " that name threads and devices or report losses",
		    s->nr_naming);
	line_add(list, &l);
}

static void explain(json_t *list, const struct input_options *o, const struct report_needs *needs,
		    struct survey *s)
{
	if (!s->nr)
		explain_no_events(list, s);
	else if (filters_blame(list, o, s))
		return;
	else if (needs && !survey_count(s, needs->events, false) &&
		 !is_filtered_access(needs, o, s))
		explain_absent(list, needs, s);
	else if (needs && survey_count(s, needs->events, true))
		explain_incomplete(list, needs, o, s);
	else
		explain_filtered(list, needs, o, s);
}

json_t *empty_lines(const struct input_set *set, const struct report_needs *needs)
{
	struct survey *s;
	json_t *list = json_array();

	if (input_survey(set, &s))
		caveat_add(list, "no events match; why is unknown: %s", error_text());
	else
		explain(list, set->options, needs, s);
	return list;
}

void empty_add(struct report *r)
{
	json_t *why = empty_lines(r->inputs, r->needs);

	json_array_extend(r->caveats, why);
	json_decref(why);
}

void empty_note(const struct input_set *set, const struct report_needs *needs,
		void (*note)(const char *fmt, ...))
{
	json_t *list = empty_lines(set, needs), *text;
	size_t i;

	json_array_foreach (list, i, text)
		note("%s", json_string_value(text));
	json_decref(list);
}

/* Wrapped at 80 columns; what follows a line's first part is indented. */
static void line_print(const char *text, FILE *out)
{
	int column = 0;

	while (*text) {
		int len = (int)strcspn(text, " ");

		if (column && column + 1 + len > 79)
			column = fprintf(out, "\n ") - 1;
		column += fprintf(out, "%s%.*s", column ? " " : "", len, text);
		text += len;
		text += strspn(text, " ");
	}
	fputc('\n', out);
}

void empty_explain(const struct report *r)
{
	const char *format = r->out->format;
	json_t *list, *text;
	size_t i;

	if (strcmp(format, "text") && strcmp(format, "json") && strcmp(format, "html") &&
	    !r->out->tree) {
		if (r->note)
			empty_note(r->inputs, r->needs, r->note);
		return;
	}
	list = empty_lines(r->inputs, r->needs);
	json_array_foreach (list, i, text) {
		if (!strcmp(format, "text"))
			line_print(json_string_value(text), r->out->file);
		else
			json_array_append(r->caveats, text);
	}
	json_decref(list);
}
