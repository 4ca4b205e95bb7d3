// SPDX-License-Identifier: GPL-2.0-or-later
/* A record's parts, as perf_output_sample() and perf_event__output_id_sample() write them (kernel/events/core.c). */
#include <errno.h>

#include "base/error.h"
#include "readers/ftrace/ftrace_kvm.h"
#include "readers/perf/perfdata_scan.h"

enum { /* PERF_SAMPLE_* */
	S_IP = 1 << 0,
	S_TID = 1 << 1,
	S_TIME = 1 << 2,
	S_ADDR = 1 << 3,
	S_READ = 1 << 4,
	S_CALLCHAIN = 1 << 5,
	S_ID = 1 << 6,
	S_CPU = 1 << 7,
	S_PERIOD = 1 << 8,
	S_STREAM_ID = 1 << 9,
	S_RAW = 1 << 10,
	S_IDENTIFIER = 1 << 16,
};

enum { /* PERF_FORMAT_* */
	F_ENABLED = 1,
	F_RUNNING = 2,
	F_ID = 4,
	F_GROUP = 8,
	F_LOST = 16,
};

static unsigned int bits(uint64_t v)
{
	return (unsigned int)__builtin_popcountll(v);
}

static void read_skip(struct buffer *b, uint64_t format)
{
	uint64_t each = 1 + bits(format & (F_ID | F_LOST)), nr = 1;

	if (format & F_GROUP)
		nr = buffer_u64(b);
	buffer_bytes(b, 8ul * bits(format & (F_ENABLED | F_RUNNING)));
	if (nr > PERFDATA_RECORD_MAX)
		b->cut = true;
	else
		buffer_bytes(b, 8 * nr * each);
}

static void chain_take(struct buffer *b, struct perfdata_sample *ret)
{
	uint64_t nr = buffer_u64(b);

	if (nr > PERFDATA_RECORD_MAX)
		b->cut = true;
	else
		ret->chain = buffer_bytes(b, 8 * nr);
	ret->nr_chain = ret->chain ? nr : 0;
}

/* The kernel's -1 is a thread that has ended: unknown, as in perf script's ":-1 -1". */
static uint32_t task_of(uint32_t id)
{
	return id == UINT32_MAX ? 0 : id;
}

static void tid_take(struct buffer *b, struct perfdata_sample *ret)
{
	ret->pid = task_of(buffer_u32(b));
	ret->tid = task_of(buffer_u32(b));
	ret->have_tid = true;
}

static void cpu_take(struct buffer *b, struct perfdata_sample *ret)
{
	ret->cpu = buffer_u32(b);
	buffer_u32(b);
	ret->have_cpu = true;
}

/* The event id must be read before the other fields; its offset is the same for all events. */
static const struct perfdata_attr *attr_find(const struct perfdata_file *f, struct buffer b)
{
	uint64_t type = f->nr_attrs ? f->attr[0].sample_type : 0, id;

	if (f->nr_attrs < 2 || !(type & (S_IDENTIFIER | S_ID)))
		return f->nr_attrs ? &f->attr[0] : NULL;
	if (!(type & S_IDENTIFIER))
		buffer_bytes(&b, 8ul * bits(type & (S_IP | S_TID | S_TIME | S_ADDR)));
	id = buffer_u64(&b);
	return b.cut ? NULL : perfdata_attr_of((struct perfdata_file *)f, id);
}

static void raw_take(struct buffer *b, struct perfdata_sample *ret)
{
	uint32_t len = buffer_u32(b);

	ret->raw = buffer_bytes(b, len);
	ret->raw_len = ret->raw ? len : 0;
}

int perfdata_sample_parse(const struct perfdata_file *f, const struct perfdata_record *rec,
			  struct perfdata_sample *ret)
{
	struct buffer b = buffer_of(rec->data, rec->len, f->path, rec->offset);
	const struct perfdata_attr *a = attr_find(f, b);
	uint64_t type = a ? a->sample_type : 0;

	*ret = (struct perfdata_sample){0};
	if (!a)
		return fail(-EBADMSG, "%s: sample of an undescribed event", f->path);
	ret->have_id = type & (S_IDENTIFIER | S_ID);
	ret->have_time = type & S_TIME;
	if (type & S_IDENTIFIER)
		ret->id = buffer_u64(&b);
	if (type & S_IP)
		ret->ip = buffer_u64(&b);
	if (type & S_TID)
		tid_take(&b, ret);
	if (type & S_TIME)
		ret->time = buffer_u64(&b);
	if (type & S_ADDR)
		buffer_u64(&b);
	if (type & S_ID)
		ret->id = buffer_u64(&b);
	if (type & S_STREAM_ID)
		buffer_u64(&b);
	if (type & S_CPU)
		cpu_take(&b, ret);
	if (type & S_PERIOD)
		ret->period = buffer_u64(&b);
	if (type & S_READ)
		read_skip(&b, a->read_format);
	if (type & S_CALLCHAIN)
		chain_take(&b, ret);
	if (type & S_RAW)
		raw_take(&b, ret);
	return buffer_ok(&b, "a sample");
}

void perfdata_trailer_parse(const struct perfdata_file *f, const struct perfdata_record *rec,
			    struct perfdata_sample *ret)
{
	const struct perfdata_attr *a = f->nr_attrs ? &f->attr[0] : NULL;
	uint64_t type = a && a->sample_id_all ? a->sample_type : 0;
	size_t len =
		8ul * bits(type & (S_TID | S_TIME | S_ID | S_STREAM_ID | S_CPU | S_IDENTIFIER));
	struct buffer b;

	*ret = (struct perfdata_sample){0};
	if (!len || rec->len < len)
		return;
	b = buffer_of(rec->data + rec->len - len, len, f->path, rec->offset);
	if (type & S_TID)
		tid_take(&b, ret);
	if (type & S_TIME) {
		ret->time = buffer_u64(&b);
		ret->have_time = true;
	}
	if (type & S_ID)
		ret->id = buffer_u64(&b);
	if (type & S_STREAM_ID)
		buffer_u64(&b);
	if (type & S_CPU)
		cpu_take(&b, ret);
	if (type & S_IDENTIFIER)
		ret->id = buffer_u64(&b);
}

bool perfdata_layout_make(const struct perfdata_attr *a, struct perfdata_layout *ret,
			  uint16_t *ret_id_at)
{
	static const uint64_t parts[] = {S_IDENTIFIER, S_IP, S_TID, S_TIME, S_ADDR, S_ID,
					 S_STREAM_ID, S_CPU, S_PERIOD};
	uint64_t type = a->sample_type, needed = S_TID | S_TIME | S_CPU | S_RAW;
	uint16_t at = PERFDATA_HEAD;

	*ret = (struct perfdata_layout){.tracepoint = a->type == PERFDATA_TYPE_TRACEPOINT};
	*ret_id_at = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!(type & parts[i]))
			continue;
		if (parts[i] & (S_IDENTIFIER | S_ID) && !*ret_id_at)
			*ret_id_at = at;
		ret->tid = parts[i] == S_TID ? at : ret->tid;
		ret->time = parts[i] == S_TIME ? at : ret->time;
		ret->cpu = parts[i] == S_CPU ? at : ret->cpu;
		at += 8;
	}
	ret->chain = type & S_CALLCHAIN ? at : 0;
	ret->raw = at + (type & S_CALLCHAIN ? 8 : 0);
	if (!ret->tracepoint)
		return ret->time && !(ret->chain && type & S_READ);
	return (type & needed) == needed && !(type & S_READ);
}

/*
 * A perf.data as rows (event/rows.h). The first pass (perfdata_scan.c) knows where each CPU's samples are, their times
 * and the losses; here the wanted fields of the wanted tracepoints are loaded at the offsets that the formats give.
 */

struct rows_cursor {
	struct perfdata *p;
	struct perfdata_layout_cache cache;
};

/* ---- what there is ---- */

/* The formats are parsed at the first need. */
static struct perfdata_scan *scan_of(struct perfdata *p)
{
	struct perfdata_scan *s = p->scan;

	if (!s || s->parsed)
		return s;
	s->unknown = ftrace_events_want(p->events, s->nr, FTRACE_IDS, NULL, NULL);
	s->unknown_chains =
		ftrace_events_want(p->events, s->nr_chains, FTRACE_IDS, NULL, NULL);
	s->parsed = true;
	return s;
}

/* Of samples whose format is known. */
static uint64_t chains_of(const struct perfdata_scan *s)
{
	uint64_t nr = s->nr_plain_chains;

	for (size_t id = 0; id < FTRACE_IDS; id++)
		nr += s->nr_chains[id];
	return nr - s->unknown_chains;
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
	if (p->chains.type)
		counts[p->chains.type->index] += chains_of(s);
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
		.pid = task_of((uint32_t)task),
		.tid = task_of((uint32_t)(task >> 32)),
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

	info->nr_events = s->nr_plain + s->nr_losses + chains_of(s) - s->unknown;
	for (size_t id = 0; id < FTRACE_IDS; id++)
		info->nr_events += s->nr[id];
	p->unknown = s->unknown;
	info->lost = s->lost;
	info->end_ns = s->newest > info->end_ns ? s->newest : info->end_ns;
	if (info->types_read)
		rows_counts(r, info->types_read);
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
