// SPDX-License-Identifier: GPL-2.0-or-later
/* A timeline as rows, one for each slice, in the order in which they ended. Written as they come. */
#include <errno.h>

#include "base/json_text.h"
#include "base/units.h"
#include "input/input_set.h"
#include "analyzers/timeline/timeline.h"
#include "output/escape.h"
#include "output/json_rows.h"
#include "output/report.h"

struct rows {
	uint64_t nr, left_out;
};

static int rows_open(struct timeline *t)
{
	t->state = calloc(1, sizeof(struct rows));
	return t->state ? 0 : -ENOMEM;
}

/* False: --limit is reached. */
static bool row_wanted(struct timeline *t)
{
	struct rows *r = t->state;

	if (t->report->out->limit && r->nr == t->report->out->limit) {
		r->left_out++;
		return false;
	}
	r->nr++;
	return true;
}

/* ---- text ---- */

/* Tracks of the only VM stand alone; those of several have the VM's name, and guests their group's, before them. */
static bool group_is_first(const struct timeline *t, uint32_t group)
{
	for (uint32_t i = 0; i < group; i++)
		if (!t->group[i].guest)
			return false;
	return !t->group[group].guest;
}

/* In a trace of several VMs each row names the VM. */
static bool several_vms(const struct timeline *t)
{
	return t->report->inputs && input_set_nr_vms(t->report->inputs) > 1;
}

/* What stands before a track's name. */
static const char *group_prefix(const struct timeline *t, uint32_t group)
{
	const struct timeline_group *g = &t->group[group];

	if (several_vms(t) && g->vm && !g->guest)
		return g->vm;
	return group_is_first(t, group) ? "" : g->name;
}

static int text_open(struct timeline *t)
{
	fprintf(t->report->out->file, "%14s %8s %-9s %-22s %s\n", "seconds", "duration", "kind",
		"track", "what");
	return rows_open(t);
}

static void text_slice(struct timeline *t, const struct timeline_slice *s)
{
	const struct timeline_track *tr = &t->track[s->track];
	uint64_t at = s->start_ns > t->start_ns ? s->start_ns - t->start_ns : 0;
	const char *prefix = group_prefix(t, tr->group);
	char duration[16] = "", time[32], track[512];

	if (!row_wanted(t))
		return;
	if (s->kind != SLICE_INSTANT)
		duration_print(s->end_ns - s->start_ns, duration, sizeof(duration));
	snprintf(track, sizeof(track), "%s%s%s", prefix, *prefix ? "/" : "", tr->name);
	fprintf(t->report->out->file, "%14s %8s %-9s %-22s %s\n",
		seconds_print(at, time, sizeof(time)), duration, slice_kind_name(s->kind), track,
		s->name);
}

static int text_close(struct timeline *t)
{
	const struct rows *r = t->state;

	if (!t->nr_slices)
		report_empty(t->report);
	report_left_out(t->report, r->left_out);
	t->report->foot(t->report);
	return 0;
}

/* ---- csv ---- */

static int csv_open(struct timeline *t)
{
	fprintf(t->report->out->file, "start_ns,duration_ns,kind,group,%strack,name\n",
		several_vms(t) ? "vm," : "");
	return rows_open(t);
}

static void csv_slice(struct timeline *t, const struct timeline_slice *s)
{
	const struct timeline_track *tr = &t->track[s->track];
	FILE *f = t->report->out->file;

	if (!row_wanted(t))
		return;
	fprintf(f, "%" PRIu64 ",%" PRIu64 ",%s,", s->start_ns, s->end_ns - s->start_ns,
		slice_kind_name(s->kind));
	put_csv(f, t->group[tr->group].name);
	fputc(',', f);
	if (several_vms(t)) {
		put_csv(f, t->group[tr->group].vm ?: "");
		fputc(',', f);
	}
	put_csv(f, tr->name);
	fputc(',', f);
	put_csv(f, s->name);
	fputc('\n', f);
}

static int csv_close(struct timeline *t)
{
	const struct rows *r = t->state;

	if (!t->nr_slices)
		report_empty(t->report);
	report_left_out(t->report, r->left_out);
	return 0;
}

/* ---- json: rows first, since the head is only known at the end ---- */

static int rows_json_open(struct timeline *t)
{
	fputs("{\"rows\": [", t->report->out->file);
	return rows_open(t);
}

/* Without an object of jansson's, which takes 17 allocations a row. */
static void number_put(const char *key, uint64_t v, FILE *f)
{
	fprintf(f, "\"%s\":", key);
	if (v <= INT64_MAX) {
		fprintf(f, "%" PRIu64, v);
		return;
	}
	json_t *real = json_u64(v);

	json_text_put(real, f, JSON_ENCODE_ANY);
	json_decref(real);
}

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return !*text;
}

static void text_put(const char *key, const char *text, FILE *f)
{
	json_t *string = is_ascii(text) ? NULL : json_string(text);

	fprintf(f, ",\"%s\":", key);
	if (string)
		json_text_put(string, f, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
	else
		put_json(f, text);
	json_decref(string);
}

static void rows_json_slice(struct timeline *t, const struct timeline_slice *s)
{
	const struct timeline_track *tr = &t->track[s->track];
	const struct timeline_group *group = &t->group[tr->group];
	const struct rows *r = t->state;
	FILE *f = t->report->out->file;

	if (!row_wanted(t))
		return;
	json_rows_next(f, r->nr - 1);
	fputc('{', f);
	number_put("start_ns", s->start_ns, f);
	fputc(',', f);
	number_put("duration_ns", s->end_ns - s->start_ns, f);
	text_put("kind", slice_kind_name(s->kind), f);
	text_put("group", group->name, f);
	if (several_vms(t) && group->vm)
		text_put("vm", group->vm, f);
	text_put("track", tr->name, f);
	text_put("name", s->name, f);
	for (unsigned int i = 0; i < s->nr_flows; i++)
		fprintf(f, "%s%" PRId64, i ? "," : ",\"flows\":[", (int64_t)s->flow[i]);
	fputs(s->nr_flows ? "]}" : "}", f);
}

static int rows_json_close(struct timeline *t)
{
	const struct rows *r = t->state;

	if (!t->nr_slices)
		report_empty(t->report);
	report_left_out(t->report, r->left_out);
	json_rows_end(t->report->out->file,
		      t->report->head(t->report));
	return 0;
}

const struct timeline_ops text_timeline = {text_open, NULL, NULL, text_slice, text_close};
const struct timeline_ops csv_timeline = {csv_open, NULL, NULL, csv_slice, csv_close};
const struct timeline_ops json_timeline = {rows_json_open, NULL, NULL, rows_json_slice,
					   rows_json_close};
