// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timeline as rows, one for each slice, in the order in which they ended; a vCPU's sleep in an exit comes when it is
 * known whether it was a halt. They are written as they come, millions of them, each put together in memory.
 */
#include <errno.h>

#include "base/digits.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/units.h"
#include "input/input_set.h"
#include "analyzers/timeline/timeline.h"
#include "output/escape.h"
#include "output/json_rows.h"
#include "output/report.h"

enum {
	ESCAPED = 6,	    /* bytes that one of a name becomes at most */
	ROW_REST_MAX = 512, /* of a row but its names and flows: numbers, keys, padding */
	FLOW_MAX = 1 + DIGITS_MAX,
};

struct rows {
	uint64_t nr, left_out;
	bool failed; /* out of memory */
	size_t size; /* of `row` */
	char row[];
};

static int rows_open(struct timeline *t)
{
	t->state = calloc(1, sizeof(struct rows));
	return t->state ? 0 : fail(-ENOMEM, "out of memory");
}

static size_t row_max(const struct timeline *t, const struct timeline_slice *s)
{
	const struct timeline_track *tr = &t->track[s->track];
	const struct timeline_group *g = &t->group[tr->group];
	size_t names = strlen(s->name) + strlen(tr->name) + strlen(g->name);

	if (g->vm)
		names += strlen(g->vm);
	return ROW_REST_MAX + ESCAPED * names + FLOW_MAX * (size_t)s->nr_flows;
}

/* Where to write the row; NULL: --limit is reached, or there is no memory. */
static char *row_begin(struct timeline *t, const struct timeline_slice *s)
{
	struct rows *r = t->state, *larger;
	size_t size = row_max(t, s);

	if (t->report->out->limit && r->nr == t->report->out->limit) {
		r->left_out++;
		return NULL;
	}
	if (size > r->size) {
		larger = realloc(r, sizeof(*r) + 2 * size);
		if (!larger) {
			r->failed = true;
			return NULL;
		}
		t->state = r = larger;
		r->size = 2 * size;
	}
	r->nr++;
	return r->row;
}

static void row_end(const struct timeline *t, char *end)
{
	const struct rows *r = t->state;

	fwrite_unlocked(r->row, 1, (size_t)(end - r->row), t->report->out->file);
}

static int rows_close(struct timeline *t)
{
	const struct rows *r = t->state;

	if (!t->nr_slices)
		report_empty(t->report);
	report_left_out(t->report, r->left_out);
	return r->failed ? fail(-ENOMEM, "out of memory") : 0;
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
	if (t->report->first_line)
		fprintf(t->report->out->file, "%s\n", t->report->first_line);
	fprintf(t->report->out->file, "%14s %8s %-9s %-22s %s\n", "seconds", "duration", "kind",
		"track", "what");
	return rows_open(t);
}

static void text_slice(struct timeline *t, const struct timeline_slice *s)
{
	const struct timeline_track *tr = &t->track[s->track];
	const char *prefix = group_prefix(t, tr->group);
	char *p = row_begin(t, s), *from;

	if (!p)
		return;
	p = put_timestamp(p, s->start_ns > t->start_ns ? s->start_ns - t->start_ns : 0, 14);
	*p++ = ' ';
	from = p;
	if (s->kind != SLICE_INSTANT)
		p = put_duration(p, s->end_ns - s->start_ns);
	p = pad_left(from, p, 8);
	*p++ = ' ';
	p = pad_right(p, put_text(p, slice_kind_name(s->kind)), 9);
	*p++ = ' ';
	from = p;
	p = put_text(p, prefix);
	if (*prefix)
		*p++ = '/';
	p = pad_right(from, put_text(p, tr->name), 22);
	*p++ = ' ';
	p = put_text(p, s->name);
	*p++ = '\n';
	row_end(t, p);
}

static int text_close(struct timeline *t)
{
	int err = rows_close(t);

	t->report->foot(t->report);
	return err;
}

/* ---- csv ---- */

static int csv_open(struct timeline *t)
{
	fprintf(t->report->out->file, "start_ns,duration_ns,kind,group,%strack,name\n",
		several_vms(t) ? "vm," : "");
	return rows_open(t);
}

static char *put_cell(char *p, const char *text)
{
	p = put_csv_text(p, text);
	*p++ = ',';
	return p;
}

static void csv_slice(struct timeline *t, const struct timeline_slice *s)
{
	const struct timeline_track *tr = &t->track[s->track];
	const struct timeline_group *group = &t->group[tr->group];
	char *p = row_begin(t, s);

	if (!p)
		return;
	p = put_dec(p, s->start_ns);
	*p++ = ',';
	p = put_dec(p, s->end_ns - s->start_ns);
	*p++ = ',';
	p = put_cell(p, slice_kind_name(s->kind));
	p = put_cell(p, group->name);
	if (several_vms(t))
		p = put_cell(p, group->vm ?: "");
	p = put_cell(p, tr->name);
	p = put_csv_text(p, s->name);
	*p++ = '\n';
	row_end(t, p);
}

/* ---- json: rows first, since the head is only known at the end ---- */

static int rows_json_open(struct timeline *t)
{
	fputs("{\"rows\": [", t->report->out->file);
	return rows_open(t);
}

/* What put_json_text() does not write: text that is not ASCII. */
static char *put_value(char *p, json_t *value)
{
	char *text = json_text_make(value, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	p = put_text(p, text ?: "null");
	free(text);
	json_decref(value);
	return p;
}

/* Without an object of jansson's, which takes 17 allocations a row. */
static char *put_number(char *p, const char *key, uint64_t v)
{
	return put_dec(put_text(p, key), v);
}

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return !*text;
}

static char *put_string(char *p, const char *key, const char *text)
{
	json_t *string = is_ascii(text) ? NULL : json_string(text);

	p = put_text(p, key);
	return string ? put_value(p, string) : put_json_text(p, text);
}

static void rows_json_slice(struct timeline *t, const struct timeline_slice *s)
{
	const struct timeline_track *tr = &t->track[s->track];
	const struct timeline_group *group = &t->group[tr->group];
	const struct rows *r;
	char *p = row_begin(t, s);

	if (!p)
		return;
	r = t->state;
	p = put_text(p, r->nr > 1 ? ",\n" : "\n");
	p = put_number(p, "{\"start_ns\":", s->start_ns);
	p = put_number(p, ",\"duration_ns\":", s->end_ns - s->start_ns);
	p = put_string(p, ",\"kind\":", slice_kind_name(s->kind));
	p = put_string(p, ",\"group\":", group->name);
	if (several_vms(t) && group->vm)
		p = put_string(p, ",\"vm\":", group->vm);
	p = put_string(p, ",\"track\":", tr->name);
	p = put_string(p, ",\"name\":", s->name);
	for (unsigned int i = 0; i < s->nr_flows; i++)
		p = put_dec(put_text(p, i ? "," : ",\"flows\":["), s->flow[i]);
	row_end(t, put_text(p, s->nr_flows ? "]}" : "}"));
}

static int rows_json_close(struct timeline *t)
{
	int err = rows_close(t);

	json_rows_end(t->report->out->file, t->report->head(t->report));
	return err;
}

const struct timeline_ops text_timeline = {text_open, NULL, NULL, text_slice, text_close};
const struct timeline_ops csv_timeline = {csv_open, NULL, NULL, csv_slice, rows_close};
const struct timeline_ops json_timeline = {rows_json_open, NULL, NULL, rows_json_slice,
					   rows_json_close};
