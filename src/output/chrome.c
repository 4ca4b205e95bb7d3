// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A timeline as trace events in JSON, for chrome://tracing and other viewers of that format (Perfetto's, speedscope):
 * groups are processes, tracks their threads. Times are us, with ns after the point.
 */
#include <errno.h>

#include "analyzers/timeline/timeline.h"
#include "output/escape.h"
#include "output/json_rows.h"
#include "output/report.h"

struct chrome {
	uint64_t nr;
};

static int chrome_open(struct timeline *t)
{
	t->state = calloc(1, sizeof(struct chrome));
	if (!t->state)
		return -ENOMEM;
	fputs("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[", t->report->out->file);
	return 0;
}

/* The members that all events have; the caller goes on, and closes. */
static FILE *event_begin(struct timeline *t, char phase, uint32_t group, uint32_t thread)
{
	struct chrome *c = t->state;
	FILE *f = t->report->out->file;

	json_rows_next(f, c->nr++);
	fprintf(f, "{\"ph\":\"%c\",\"pid\":%" PRIu32 ",\"tid\":%" PRIu32, phase, group + 1, thread);
	return f;
}

static void put_us(FILE *f, const char *key, uint64_t ns)
{
	fprintf(f, ",\"%s\":%" PRIu64 ".%03" PRIu64, key, ns / 1000, ns % 1000);
}

static void put_name(FILE *f, const char *key, const char *name)
{
	fprintf(f, ",\"%s\":", key);
	put_json(f, name);
}

static void label_put(FILE *f, const char *what, const char *name)
{
	put_name(f, "name", what);
	fputs(",\"args\":{\"name\":", f);
	put_json(f, name);
	fputs("}}", f);
}

static void chrome_group(struct timeline *t, uint32_t group)
{
	label_put(event_begin(t, 'M', group, 0), "process_name", t->group[group].name);
}

static void chrome_track(struct timeline *t, uint32_t track)
{
	const struct timeline_track *tr = &t->track[track];

	if (!tr->is_counter)
		label_put(event_begin(t, 'M', tr->group, track + 1), "thread_name", tr->name);
}

static void chrome_slice(struct timeline *t, const struct timeline_slice *s)
{
	bool instant = s->kind == SLICE_INSTANT;
	FILE *f = event_begin(t, instant ? 'i' : 'X', t->track[s->track].group, s->track + 1);

	put_us(f, "ts", s->start_ns);
	if (instant)
		fputs(",\"s\":\"t\"", f);
	else
		put_us(f, "dur", s->end_ns - s->start_ns);
	put_name(f, "cat", slice_kind_name(s->kind));
	put_name(f, "name", s->name);
	fputc('}', f);
}

static void chrome_count(struct timeline *t, uint32_t track, uint64_t ns, uint64_t value)
{
	const struct timeline_track *tr = &t->track[track];
	FILE *f = event_begin(t, 'C', tr->group, 0);

	put_us(f, "ts", ns);
	put_name(f, "name", tr->name);
	fprintf(f, ",\"args\":{\"value\":%" PRIu64 "}}", value);
}

static int chrome_close(struct timeline *t)
{
	const struct report *r = t->report;

	if (!t->nr_slices)
		report_empty(r);
	json_rows_end(r->out->file, r->head(r));
	return 0;
}

static const struct timeline_ops chrome_timeline = {
	.open = chrome_open,
	.group = chrome_group,
	.track = chrome_track,
	.slice = chrome_slice,
	.close = chrome_close,
	.count = chrome_count,
};

const struct format chrome_format = {
	.name = "chrome",
	.timeline = &chrome_timeline,
};
