// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A perf.data as rows (event/rows.h). The first pass (perfdata_scan.c) knows where each CPU's samples are, their times
 * and the losses; here the wanted fields of the wanted tracepoints are loaded at the offsets that the formats give.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "readers/ftrace/ftrace_rows.h"
#include "readers/perf/perfdata_scan.h"

struct rows_cursor {
	struct perfdata *p;
	struct perfdata_layout_cache cache;
};

/* ---- what there is ---- */

/* The formats are parsed at the first need. */
static struct perfdata_scan *scan_of(struct perfdata *p)
{
	if (p->scan && !p->scan->parsed)
		p->scan->unknown =
			ftrace_events_want(p->events, p->scan->nr, FTRACE_IDS, NULL, NULL);
	if (p->scan)
		p->scan->parsed = true;
	return p->scan;
}

static bool rows_open(struct reader *r, struct rows_source *ret)
{
	const struct perfdata_scan *s = scan_of((struct perfdata *)r);

	if (s)
		*ret = (struct rows_source){.piece = s->row_piece, .nr_pieces = s->nr_pieces,
					    .loss = s->loss, .nr_losses = s->nr_losses};
	return s;
}

static int rows_counts(struct reader *r, uint64_t *counts)
{
	struct perfdata *p = (struct perfdata *)r;
	const struct perfdata_scan *s = scan_of(p);

	if (!s)
		return fail(-ENOTSUP, "%s: not counted", r->info.file);
	ftrace_events_count_made(p->events, s->nr, counts);
	counts[event_type_ours(EV_lost)->index] += s->nr_losses;
	return 0;
}

static struct rows_plan *rows_plan(struct reader *r, const struct rows_request *request)
{
	const struct perfdata *p = (const struct perfdata *)r;

	return ftrace_rows_plan(p->events, p->scan->nr, request);
}

/* ---- a piece ---- */

static struct rows_cursor *rows_cursor(struct reader *r)
{
	struct rows_cursor *c = calloc(1, sizeof(*c));

	if (c)
		c->p = (struct perfdata *)r;
	return c;
}

static void rows_cursor_free(struct rows_cursor *c)
{
	free(c);
}

/* Where the next row goes. */
struct filling {
	const struct perfdata_scan *s;
	const struct rows_plan *plan;
	struct rows_data *to;
	struct rows_run *run; /* NULL: none yet */
	uint64_t task, time, named_at; /* of the newest row; where its run gets its vCPU's number */
	uint32_t common_pid;
};

/* Samples before the one that names the thread's vCPU have none, as in order of the file. */
static void run_begin(struct filling *f, uint64_t task, uint32_t common_pid, uint64_t time,
		      uint64_t at)
{
	const struct perfdata_thread *t = hash_find_u64(&f->s->threads, common_pid);
	bool named = t && at >= t->named_at;

	f->run = &f->to->run[f->to->nr_runs++];
	*f->run = (struct rows_run){
		.first_ns = time,
		.start = f->to->nr,
		.pid = (uint32_t)task,
		.tid = (uint32_t)(task >> 32),
		.vcpu = named ? t->vcpu : RECORD_NO_VCPU,
	};
	f->named_at = t && !named ? t->named_at : UINT64_MAX;
	f->task = task;
	f->common_pid = common_pid;
	f->time = time;
}

static inline bool sample_fill(struct filling *f, const struct perfdata_layout *l,
			       const uint8_t *rec, uint32_t size, uint64_t at)
{
	const struct ftrace_layout *format;
	uint32_t len, common_pid;
	uint64_t time, task;
	const uint8_t *raw;
	uint16_t id;

	if (!perfdata_raw(l, rec, size, &raw, &len))
		return false;
	memcpy(&id, raw, sizeof(id));
	if (!f->plan->by_id[id])
		return true;
	format = &f->plan->layout[f->plan->by_id[id] - 1];
	memcpy(&time, rec + l->time, sizeof(time));
	memcpy(&task, rec + l->tid, sizeof(task));
	memcpy(&common_pid, raw + 4, sizeof(common_pid));
	if (time < f->time)
		return false;
	if (!f->run || task != f->task || common_pid != f->common_pid || at >= f->named_at)
		run_begin(f, task, common_pid, time, at);
	ftrace_row_add(f->to, f->run, format, raw, len, time - f->time);
	f->time = time;
	return true;
}

/* The file may have been changed meanwhile: no more than the piece's events, in order. */
static bool extent_fill(struct rows_cursor *c, struct filling *f, const struct perfdata_extent *e,
			uint32_t *left)
{
	const uint8_t *map = f->s->map;

	for (uint64_t at = e->at, end = at + e->len; at < end;) {
		const struct perfdata_layout *l;
		uint64_t head;
		uint32_t size;

		if (end - at < sizeof(head))
			return false;
		__builtin_prefetch(map + at + PERFDATA_AHEAD);
		memcpy(&head, map + at, sizeof(head));
		size = (uint32_t)(head >> 48);
		if (size < PERFDATA_HEAD || size > end - at)
			return false;
		if ((uint32_t)head == PERFDATA_SAMPLE) {
			l = f->s->uniform ? &f->s->layout[0]
					  : perfdata_layout_of(&c->p->file, f->s, &c->cache,
							       map + at, size);
			if (!l || (l->tracepoint &&
				   (!(*left)-- || !sample_fill(f, l, map + at, size, at))))
				return false;
		}
		at += size;
	}
	return true;
}

static bool rows_read(struct rows_cursor *c, const struct rows_plan *plan, size_t i,
		      struct rows_data *to)
{
	const struct perfdata_scan *s = c->p->scan;
	const struct perfdata_piece *piece = &s->piece[i];
	struct filling f = {.s = s, .plan = plan, .to = to, .named_at = UINT64_MAX};
	uint32_t left = piece->nr_events;
	bool fine = true;

	to->cpu = (uint16_t)piece->cpu;
	for (uint32_t e = piece->extent; e && fine; e = s->extent[e].next)
		fine = extent_fill(c, &f, &s->extent[e], &left);
	return fine && !left;
}

/* ---- the end ---- */

/* As if all records had been read. Names are events, too: they are put in order of time as there. */
static void rows_finish(struct reader *r)
{
	struct perfdata *p = (struct perfdata *)r;
	const struct perfdata_scan *s = p->scan;
	struct trace_info *info = &r->info;

	info->nr_events = s->nr_plain + s->nr_losses - s->unknown;
	for (size_t id = 0; id < FTRACE_IDS; id++)
		info->nr_events += s->nr[id];
	p->unknown = s->unknown;
	info->lost = s->lost;
	info->end_ns = s->newest > info->end_ns ? s->newest : info->end_ns;
	p->losses = (struct perfdata_losses){.told = s->lost, .by_event = s->by_event};
	perfdata_names_read(p, s->map, s->name_at, s->nr_names);
}

const struct rows_ops perfdata_rows = {
	.open = rows_open,
	.counts = rows_counts,
	.plan = rows_plan,
	.cursor = rows_cursor,
	.cursor_free = rows_cursor_free,
	.read = rows_read,
	.finish = rows_finish,
};
