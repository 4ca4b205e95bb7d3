// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The rate of a clock that counts ticks (trace_clock x86-tsc), from events that carry both a timestamp in ticks and a
 * duration or a time in ns:
 *
 *   kvm_pvclock_update    the rate that KVM tells the guest: exact; a guest whose TSC is scaled would mislead
 *   kvm_vcpu_wakeup       how long the vCPU was halted: its kvm_exit was before, so the ticks between the two are at
 *                         least as many. The least ratio is the rate if several halts agree: the work around them is
 *                         then negligible.
 *   hrtimer_expire_entry  the time of the timer's clock
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/log.h"
#include "base/order.h"
#include "event/guest_fields.h"
#include "event/records.h"
#include "readers/ftrace/ftrace_kvm.h"
#include "readers/ftrace/tracedat.h"
#include "readers/ftrace/tracedat_reader.h"

enum { TICK_RATE_HALTS_MAX = 1 << 16 };

enum {
	HALT_NS_MIN = 100000, /* of shorter halts the work around them is too large a part */
	HALTS_AGREE = 3,
	NOW_NS_MIN = 100000000, /* between the first and the last timer */
};

#define AGREEMENT 1e-3 /* relative */

static void tick_rate_exit(struct tick_rate *r, uint32_t tid, uint64_t tick)
{
	struct tick_exit *e = hash_add_u64(&r->exits, tid, NULL);

	if (e)
		e->tick = tick;
}

static void tick_rate_wakeup(struct tick_rate *r, uint32_t tid, uint64_t tick, uint64_t halted_ns)
{
	const struct tick_exit *e = hash_find_u64(&r->exits, tid);

	if (!e || tick <= e->tick || halted_ns < HALT_NS_MIN ||
	    r->nr_halts == TICK_RATE_HALTS_MAX || array_room(r->halt, r->nr_halts))
		return;
	r->halt[r->nr_halts++] = (double)(tick - e->tick) / (double)halted_ns;
}

/* ns = tick * 2^shift * mul / 2^32 (struct pvclock_vcpu_time_info) */
static void tick_rate_pvclock(struct tick_rate *r, uint32_t mul, int8_t shift)
{
	if (mul && shift > -32 && shift < 32 && r->pvclock <= 0)
		r->pvclock = ldexp(mul, shift - 32);
}

void tick_rate_now(struct tick_rate *r, uint64_t tick, uint64_t now_ns)
{
	struct tick_pair pair = {tick, now_ns};

	if (!r->first.tick)
		r->first = pair;
	if (tick > r->last.tick && now_ns > r->last.ns)
		r->last = pair;
}

void tick_rate_deinit(struct tick_rate *r)
{
	hash_deinit(&r->exits);
	free(r->halt);
	r->halt = NULL;
	r->nr_halts = 0;
}

bool tick_rate_is_valid(double ns_per_tick)
{
	return ns_per_tick > 1e-3 && ns_per_tick <= 1e6;
}

static double rate_of_halts(const struct tick_rate *r)
{
	double least = INFINITY;
	size_t nr = 0;

	for (size_t i = 0; i < r->nr_halts; i++)
		least = fmin(least, r->halt[i]);
	for (size_t i = 0; i < r->nr_halts; i++)
		nr += r->halt[i] <= least * (1 + AGREEMENT);
	return nr >= HALTS_AGREE ? 1 / least : 0;
}

static double rate_of_timers(const struct tick_rate *r)
{
	if (r->last.ns < r->first.ns || r->last.ns - r->first.ns < NOW_NS_MIN)
		return 0;
	return (double)(r->last.ns - r->first.ns) / (double)(r->last.tick - r->first.tick);
}

double tick_rate_find(const struct tick_rate *r, const char **ret_event)
{
	*ret_event = "kvm_pvclock_update";
	if (tick_rate_is_valid(r->pvclock))
		return r->pvclock;
	double timers = rate_of_timers(r), halts = rate_of_halts(r);

	*ret_event = "hrtimer_expire_entry";
	if (tick_rate_is_valid(timers))
		return timers;
	*ret_event = "kvm_vcpu_wakeup";
	return tick_rate_is_valid(halts) ? halts : 0;
}

static void wakeup_take(struct tick_rate *r, const struct event *ev)
{
	RECORD(kvm_vcpu_wakeup, wakeup, ev);

	tick_rate_wakeup(r, ev->tid, ev->time_ns, wakeup->ns);
}

static void pvclock_take(struct tick_rate *r, const struct event *ev)
{
	RECORD(kvm_pvclock_update, clock, ev);

	tick_rate_pvclock(r, clock->mul, (int8_t)clock->shift);
}

void tick_rate_event(struct tick_rate *r, const struct event *ev)
{
	uint64_t now;

	switch (ev->type->id) {
	case EV_kvm_exit:
		tick_rate_exit(r, ev->tid, ev->time_ns);
		break;
	case EV_kvm_vcpu_wakeup:
		wakeup_take(r, ev);
		break;
	case EV_kvm_pvclock_update:
		pvclock_take(r, ev);
		break;
	default:
		if (kernel_event_kind(ev->type) == GUEST_TIMER && guest_number(ev, now, &now))
			tick_rate_now(r, ev->time_ns, now);
	}
}

double tick_rate_describe(struct trace_info *info, double ns_per_tick, const char *event)
{
	bool known = tick_rate_is_valid(ns_per_tick);

	json_object_set_new(info->meta, "tsc_map",
			    json_pack("{s:f, s:I}", "ns_per_tick", known ? ns_per_tick : 1.0,
				      "ns_offset", (json_int_t)0));
	if (!known) {
		trace_info_set_ticks(info);
		return 1;
	}
	json_object_set_new(info->meta, "tsc_khz",
			    json_integer(int64_of_double(1e6 / ns_per_tick + 0.5)));
	if (event && strcmp(event, "kvm_pvclock_update"))
		trace_info_caveat(info,
				  "%s: the frequency of the trace's clock, %.3f MHz, is estimated "
				  "from %s; another one can be given with --tsc-khz",
				  info->file, 1e3 / ns_per_tick, event);
	return ns_per_tick;
}

/*
 * A trace.dat as rows (event/rows.h). The first pass (tracedat_scan.c) knows all pieces, their times and losses; here
 * the wanted fields of the wanted events are loaded from the pages, at the offsets that the file's formats give.
 */

struct rows_cursor {
	const struct tracedat *t;
	struct tracedat_pages pages;
};

/* ---- what there is ---- */

static bool unsuited(const char *why)
{
	debug("read", "trace.dat: no rows: %s", why);
	return false;
}

/* Damage is reported by the batches. */
static bool is_plain(const struct tracedat *t)
{
	const struct tracedat_scan *s = t->scan;

	if (!s || s->unordered || !vm_threads_are_plain(t->vms))
		return unsuited("events are out of order, or a thread changes its vCPU");
	if (ftrace_events_occurs(t->events, s->nr, "lost"))
		return unsuited("losses are events");
	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		const struct cpu_totals *total = &s->total[i];
		if (total->cut || total->damaged || t->file.cpu[i].frame || t->cpu[i].unplaced ||
		    (cpu_left(&t->file.cpu[i], total) && !total->last))
			return unsuited("data is damaged, or missing in an unknown order");
	}
	for (size_t i = 0; i < s->nr_pieces; i++)
		if (s->piece[i].nr_events > ROWS_MAX)
			return unsuited("a chunk of pages is too large");
	return true;
}

struct sorted {
	uint64_t first;
	size_t i;
};

ORDER_BY(by_first, struct sorted, first, i)

static bool pieces_sort(struct tracedat *t)
{
	struct tracedat_scan *s = t->scan;
	_cleanup_free_ struct sorted *order = calloc(s->nr_pieces + 1, sizeof(*order));
	struct scanned_piece *piece = calloc(s->nr_pieces + 1, sizeof(*piece));

	s->row_piece = calloc(s->nr_pieces + 1, sizeof(*s->row_piece));
	if (!order || !piece || !s->row_piece) {
		free(piece);
		return unsuited("out of memory");
	}
	for (size_t i = 0; i < s->nr_pieces; i++)
		order[i] = (struct sorted){s->piece[i].first, i};
	qsort(order, s->nr_pieces, sizeof(*order), by_first);
	for (size_t i = 0; i < s->nr_pieces; i++) {
		const struct scanned_piece *from = &s->piece[order[i].i];

		piece[i] = *from;
		s->row_piece[i] = (struct rows_piece){.first_ns = tracedat_time(t, from->first),
						      .last_ns = tracedat_time(t, from->last),
						      .bytes = from->bytes,
						      .nr_events = from->nr_events};
		if (s->row_piece[i].last_ns < s->row_piece[i].first_ns)
			s->unordered = true; /* ticks that are no times */
	}
	free(s->piece);
	s->piece = piece;
	return !s->unordered || unsuited("times are out of range");
}

static uint64_t until_ns(const struct tracedat *t, uint64_t until)
{
	return until == INT64_MAX ? until : tracedat_time(t, until);
}

/* Those before a page, and what the kernel's buffers still held at the end. */
static bool losses_list(struct tracedat *t, struct rows_source *ret)
{
	struct tracedat_scan *s = t->scan;
	struct rows_loss *all = calloc(s->nr_losses + t->file.nr_cpus + 1, sizeof(*all));
	size_t nr = 0;

	if (!all)
		return unsuited("out of memory");
	for (; nr < s->nr_losses; nr++) {
		const struct scanned_loss *l = &s->loss[nr];

		all[nr] = (struct rows_loss){.time_ns = tracedat_time(t, l->time),
					     .until_ns = until_ns(t, l->until),
					     .cpu = (uint16_t)t->file.cpu[l->cpu].cpu,
					     .first = l->first};
	}
	for (unsigned int i = 0; i < t->file.nr_cpus; i++)
		if (cpu_left(&t->file.cpu[i], &s->total[i]))
			all[nr++] = (struct rows_loss){
				.time_ns = tracedat_time(t, s->total[i].last),
				.until_ns = INT64_MAX,
				.cpu = (uint16_t)t->file.cpu[i].cpu};
	s->row_loss = all;
	ret->loss = all;
	ret->nr_losses = nr;
	return true;
}

static bool rows_open(struct reader *r, struct rows_source *ret)
{
	struct tracedat *t = (struct tracedat *)r;

	if (!is_plain(t) || !pieces_sort(t) || !losses_list(t, ret))
		return false;
	ret->piece = t->scan->row_piece;
	ret->nr_pieces = t->scan->nr_pieces;
	return true;
}

static uint64_t nr_losses(const struct tracedat *t)
{
	uint64_t nr = t->scan->nr_losses;

	for (unsigned int i = 0; i < t->file.nr_cpus; i++)
		nr += cpu_left(&t->file.cpu[i], &t->scan->total[i]) > 0;
	return nr;
}

static void missing_count(const struct tracedat *t, uint64_t *counts)
{
	counts[event_type_ours(EV_lost)->index] += nr_losses(t);
	counts[event_type_ours(EV_gap)->index] += t->scan->nr_gaps;
}

static int rows_counts(struct reader *r, uint64_t *counts)
{
	struct tracedat *t = (struct tracedat *)r;

	if (!t->scan)
		return fail(-ENOTSUP, "%s: not counted", r->info.file);
	ftrace_events_count_made(t->events, t->scan->nr, counts);
	missing_count(t, counts);
	return 0;
}

int tracedat_counts(struct reader *r, uint64_t *counts)
{
	struct tracedat *t = (struct tracedat *)r;

	if (!t->scan)
		return fail(-ENOTSUP, "%s: not counted", r->info.file);
	missing_count(t, counts);
	return ftrace_events_count(t->events, t->scan->nr, t->scan->first_time, counts);
}

/* ---- the plan ---- */

static struct rows_plan *rows_plan(struct reader *r, const struct rows_request *request)
{
	const struct tracedat *t = (const struct tracedat *)r;

	return ftrace_rows_plan(t->events, t->scan->nr, request);
}

/* ---- a piece ---- */

static struct rows_cursor *rows_cursor(struct reader *r)
{
	struct rows_cursor *c = calloc(1, sizeof(*c));

	if (c)
		c->t = (const struct tracedat *)r;
	return c;
}

static void rows_cursor_free(struct rows_cursor *c)
{
	tracedat_pages_deinit(&c->pages);
	free(c);
}

/* Where the next row goes. */
struct filling {
	const struct rows_plan *plan;
	struct rows_data *to;
	struct rows_run *run;
	int32_t pid;
	uint64_t time_ns; /* of the newest row */
};

static void run_begin(const struct tracedat *t, struct filling *f, int32_t pid, uint64_t time_ns)
{
	f->run = &f->to->run[f->to->nr_runs++];
	*f->run = (struct rows_run){
		.first_ns = time_ns, .start = f->to->nr, .tid = pid > 0 ? (uint32_t)pid : 0};
	vm_threads_get(t->vms, f->run->tid, &f->run->pid, &f->run->vcpu);
	f->pid = pid;
	f->time_ns = time_ns;
}

static inline void row_add(const struct tracedat *t, struct filling *f,
			   const struct ftrace_layout *l, const uint8_t *entry, size_t len,
			   uint64_t time_ns)
{
	int32_t pid;

	memcpy(&pid, entry + 4, sizeof(pid));
	if (!f->run || pid != f->pid)
		run_begin(t, f, pid, time_ns);
	ftrace_row_add(f->to, f->run, l, entry, len, time_ns - f->time_ns);
	f->time_ns = time_ns;
}

/* The file may have been changed meanwhile: no more than `most` events, in order. */
static bool page_fill(const struct tracedat *t, struct ftrace_page *p, struct filling *f,
		      uint32_t most, uint32_t *nr)
{
	const uint8_t *entry;
	uint64_t time;
	uint16_t id;
	size_t len;

	while (ftrace_page_next(p, &entry, &len, &time)) {
		if ((*nr)++ == most)
			return false;
		if (len < FTRACE_COMMON)
			continue;
		memcpy(&id, entry, sizeof(id));
		if (!f->plan->by_id[id])
			continue;
		time = tracedat_time(t, time);
		if (time < f->time_ns)
			return false;
		row_add(t, f, &f->plan->layout[f->plan->by_id[id] - 1], entry, len, time);
	}
	return true;
}

static bool rows_read(struct rows_cursor *c, const struct rows_plan *plan, size_t i,
		      struct rows_data *to)
{
	const struct tracedat *t = c->t;
	const struct scanned_piece *piece = &t->scan->piece[i];
	struct filling f = {.plan = plan, .to = to};
	const uint8_t *data;
	uint32_t nr = 0;
	bool fine = true;
	int more = 0;

	to->cpu = (uint16_t)t->file.cpu[piece->at.cpu].cpu;
	tracedat_pages_seek(&c->pages, &t->file, &piece->at);
	while (fine && (more = tracedat_pages_next(&c->pages, &data)) > 0) {
		struct ftrace_page page;

		fine = !ftrace_page_open(&page, data, t->file.page_size, t->file.commit_size) &&
		       page_fill(t, &page, &f, piece->nr_events, &nr);
	}
	return fine && !more && nr == piece->nr_events;
}

/* ---- the end ---- */

/* As if all CPUs had been read to their ends. */
static void rows_finish(struct reader *r)
{
	struct tracedat *t = (struct tracedat *)r;
	struct trace_info *info = &r->info;

	info->nr_events += nr_losses(t);
	for (unsigned int i = 0; i < t->file.nr_cpus; i++) {
		struct cpu_totals *total = &t->cpu[i].total;
		uint64_t end_ns = tracedat_time(t, t->scan->total[i].last);

		*total = t->scan->total[i];
		total->nr_lost += cpu_left(&t->file.cpu[i], total);
		total->end_reported = true;
		info->lost += total->nr_lost;
		info->nr_events += total->nr_read;
		info->end_ns = end_ns > info->end_ns ? end_ns : info->end_ns;
	}
	info->nr_events -= t->scan->unknown;
	t->unknown = t->scan->unknown;
	tracedat_end_report(t);
}

const struct rows_ops tracedat_rows = {
	.open = rows_open,
	.counts = rows_counts,
	.plan = rows_plan,
	.cursor = rows_cursor,
	.cursor_free = rows_cursor_free,
	.read = rows_read,
	.finish = rows_finish,
};
