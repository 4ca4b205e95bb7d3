// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fast path. Where a span begins and ends in one thread, the events of different threads need not be put in one
 * order: each thread's are paired straight from columns (tracefile/columns.h, event/rows.h), many at a time, on all
 * CPUs, and what the workers folded is merged at the end.
 *
 *   rounds of the file:  | r0 | r1 | r2 | r3 | r4 | r5 | ...        a round ends where the watermark rises
 *   segments:            '---- worker 1 ----''---- worker 2 ----'   pieces of work
 *   at a segment's end, by thread:  what its first begin or end met | what it left open
 *
 * Its result must equal that of the slow path (reader, pair.c, one span at a time) to the last byte of the report. So
 * it is only used where that is certain: one complete recording, nothing damaged or late, keys and labels that
 * depend on no other events. Otherwise the caller uses the slow path, which also reports what was wrong.
 *
 * Four stages, each a file that calls only those before it:
 *
 *   fast_plan.c   can it be used? which columns, in which rounds and segments
 *   fast_load.c   pieces of the input to slices: one thread's records in one chunk, their columns decoded
 *   fast_pair.c   a round's slices to spans, which go to the fold in batches
 *   fast_path.c   losses, workers, and the join of what segments left open
 *
 * A worker takes the next segment, pairs it round by round and keeps, for each thread, what reaches over the segment's
 * borders. The segments are joined in the file's order when all workers are done.
 */
#include <errno.h>
#include <pthread.h>

#include "base/array.h"
#include "base/log.h"
#include "base/order.h"
#include "pairing/fast_internal.h"

/*
 * ---- reports of lost events ----
 *
 * A report makes all that is open at its time unknown, in every thread; so workers must know all reports of the file
 * before they start. They are few: the chunks that hold them are read first.
 */

struct report {
	uint64_t time_ns, until_ns;
	uint32_t cpu;
	bool first;
};

struct reports {
	struct report *item;
	size_t nr;
};

static bool report_add(struct reports *all, struct report report)
{
	return !array_add(all->item, all->nr, report);
}

/* According to its counts: does the chunk hold reports? */
static bool chunk_has(struct fast_worker *w, const struct chunk_ref *ref, bool *ret_fine)
{
	_cleanup_free_ struct chunk_count *counts = NULL;

	*ret_fine = !chunk_load_counts(w->loader, ref, &counts);
	for (unsigned int i = 0; *ret_fine && i < ref->h.nr_counts; i++)
		if (w->plan->role[counts[i].type] == ROLE_LOST)
			return true;
	return false;
}

/* The reports of one kind of w->columns. Their times follow from all records of their threads. */
static bool kind_read(struct fast_worker *w, unsigned int kind, const struct pairing *p,
		      struct reports *all)
{
	const struct columns *c = w->columns;
	const struct event_type *type = w->plan->src.types[c->kind[kind].type];
	const struct field *count = event_field(type, "count"), *until = event_field(type, "until"),
			   *event = event_field(type, "lost_event");
	const uint64_t *v[3] = {count ? fast_field(w, kind, count) : NULL,
				until ? fast_field(w, kind, until) : NULL,
				event ? fast_field(w, kind, event) : NULL};
	uint64_t *step[COLUMNS_KINDS_MAX];
	uint32_t row[COLUMNS_KINDS_MAX] = {0};

	if ((count && !v[0]) || (until && !v[1]) || (event && !v[2]))
		return false;
	for (unsigned int k = 0; k < c->nr_kinds; k++)
		if (!(step[k] = fast_steps(w, k)))
			return false;
	for (uint32_t t = 0; t < c->nr_threads; t++) {
		uint64_t time = c->thread[t].first_ns;

		for (uint32_t i = c->thread[t].start; i < c->thread[t].start + c->thread[t].nr;
		     i++) {
			unsigned int k = c->sequence[i];
			uint32_t at = row[k]++;

			time += step[k][at];
			if (k != kind)
				continue;
			w->plan->nr_lost_records++;
			if (time >= w->plan->until_ns)
				continue;
			if (time >= w->plan->since_ns)
				w->plan->lost += v[0] ? v[0][at] : 0;
			if (p->a->end && analyzer_loses(p->a, v[2] ? v[2][at] : 0) &&
			    !report_add(all, (struct report){.time_ns = time,
							     .until_ns = v[1] ? v[1][at] : 0,
							     .cpu = FAST_CPU_UNKNOWN}))
				return false;
		}
	}
	return true;
}

static bool chunk_read(struct fast_worker *w, const struct chunk_ref *ref, const struct pairing *p,
		       struct reports *all)
{
	const uint8_t *payload;
	bool fine = true;
	size_t len;

	if (chunk_load_columns(w->loader, ref, w->plan->src.types, &payload, &len) ||
	    !columns_parse(w->columns, payload, len))
		return false;
	for (unsigned int k = 0; k < w->columns->nr_kinds && fine; k++)
		if (w->plan->role[w->columns->kind[k].type] == ROLE_LOST)
			fine = kind_read(w, k, p, all);
	fast_round_end(w);
	return fine;
}

static int by_time(const void *a, const void *b)
{
	const struct report *x = a, *y = b;

	return order_u64(x->time_ns, y->time_ns) ?: order_u64(x->until_ns, y->until_ns) ?:
	       order_u64(x->cpu, y->cpu) ?: (int)x->first - (int)y->first;
}

static bool losses_keep(struct fast_plan *plan, struct reports *all)
{
	uint64_t blind = 0;

	qsort(all->item, all->nr, sizeof(*all->item), by_time);
	plan->losses = calloc(all->nr, sizeof(*plan->losses));
	for (size_t i = 0; i < all->nr && plan->losses; i++) {
		blind = all->item[i].until_ns > blind ? all->item[i].until_ns : blind;
		plan->losses[i] = (struct fast_loss){.time_ns = all->item[i].time_ns,
						     .blind_until_ns = blind,
						     .cpu = all->item[i].cpu,
						     .first = all->item[i].first};
	}
	plan->nr_losses = all->nr;
	return plan->losses;
}

/* Reads all reports of lost events of the file into the plan. False: they cannot be read. */
static bool fast_losses_read(struct fast_worker *w, const struct pairing *p)
{
	struct fast_plan *plan = w->plan;
	struct reports all = {0};
	bool fine = true;

	for (size_t i = 0; p->a->end && i < plan->rows_source.nr_losses && fine; i++) {
		const struct rows_loss *l = &plan->rows_source.loss[i];

		if (l->time_ns >= plan->until_ns)
			continue;
		fine = report_add(&all, (struct report){l->time_ns, l->until_ns, l->cpu, l->first});
	}
	for (size_t i = 0; !plan->rows && plan->has_lost && i < plan->nr_pieces && fine; i++)
		if (plan->pieces[i].wanted && chunk_has(w, &plan->src.refs[i], &fine))
			fine = chunk_read(w, &plan->src.refs[i], p, &all);
	if (fine && all.nr)
		fine = losses_keep(plan, &all);
	free(all.item);
	return fine;
}

/* ---- a worker ---- */

static void threads_forget(struct fast_worker *w)
{
	hash_clear(&w->places);
	w->nr_threads = 0;
}

/* Nothing is paired from the end of the time window on. */
static uint64_t pair_until(const struct fast_plan *p, uint64_t watermark_ns)
{
	return watermark_ns < p->until_ns ? watermark_ns : p->until_ns;
}

/* Reads what earlier rounds leave to this segment: events no older than the start of its first round. */
static int prime(struct fast_worker *w, const struct fast_round *round)
{
	const struct fast_plan *p = w->plan;
	uint64_t lost_records = w->lost_records;
	int err = 0;

	for (size_t i = 0; i < round->first && !err; i++)
		if (p->pieces[i].wanted && p->pieces[i].last_ns >= round->from_ns)
			err = fast_piece_load(w, i);
	w->lost_records = lost_records; /* the other segment counts them */
	return err ? err : fast_round_pair(w, pair_until(p, round->from_ns), true);
}

static int borders_leave(struct fast_worker *w, struct fast_segment *s)
{
	s->border = calloc(w->nr_threads + 1, sizeof(*s->border));
	if (!s->border)
		return -ENOMEM;
	for (unsigned int i = 0; i < w->nr_threads; i++)
		s->border[s->nr_borders++] = w->threads[i].b;
	return 0;
}

static int segment_run(struct fast_worker *w, struct fast_segment *s)
{
	const struct fast_plan *p = w->plan;
	int err;

	threads_forget(w);
	err = prime(w, &p->rounds[s->first]);
	for (size_t r = s->first; r < s->end && !err; r++) {
		const struct fast_round *round = &p->rounds[r];

		for (size_t i = round->first; i < round->end && !err; i++)
			if (p->pieces[i].wanted)
				err = fast_piece_load(w, i);
		if (!err)
			err = fast_round_pair(w, pair_until(p, round->watermark_ns), false);
	}
	if (!err)
		err = w->doubt ? FAST_UNSUITED : fast_flush(w);
	return err ? err : borders_leave(w, s);
}

static void *worker_run(void *arg)
{
	struct fast_worker *w = arg;

	while (!w->err) {
		size_t i = __atomic_fetch_add(&w->plan->next_segment, 1, __ATOMIC_RELAXED);

		if (i >= w->plan->nr_segments)
			break;
		w->err = segment_run(w, &w->plan->segments[i]);
		if (w->err) /* stop the others */
			__atomic_store_n(&w->plan->next_segment, w->plan->nr_segments,
					 __ATOMIC_RELAXED);
	}
	return NULL;
}

static void worker_free(struct fast_worker *w)
{
	if (!w)
		return;
	if (w->state)
		w->plan->fold->close(w->state);
	fast_blocks_free(w);
	for (unsigned int i = 0; i < w->max_threads; i++)
		free(w->threads[i].carry);
	chunk_loader_free(w->loader);
	columns_free(w->columns);
	if (w->cursor)
		w->plan->rows->cursor_free(w->cursor);
	free(w->scratch);
	free(w->threads);
	hash_deinit(&w->places);
	free(w->items);
	free(w);
}

static bool input_open(struct fast_worker *w)
{
	const struct fast_plan *p = w->plan;

	if (p->rows)
		w->cursor = p->rows->cursor(p->reader);
	if (p->rows)
		return w->cursor;
	w->loader = chunk_loader_new(p->src.fd, p->src.file);
	w->columns = columns_new();
	w->scratch = malloc(COLUMNS_RECORDS_MAX * sizeof(*w->scratch));
	return w->loader && w->columns && w->scratch;
}

static struct fast_worker *worker_new(struct fast_plan *plan)
{
	struct fast_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->plan = plan;
	w->threads = calloc(FAST_THREADS_MAX, sizeof(*w->threads));
	w->places = HASH_TABLE(struct fast_thread_place, 1, FAST_THREADS_MAX);
	if (w->threads && input_open(w) && !plan->fold->open(plan->fold->arg, &w->state))
		return w;
	worker_free(w);
	return NULL;
}

/* ---- joining segments ---- */

/* A thread after all segments so far, with its open begin. */
struct joined {
	uint64_t id;
	struct fast_border b;
};

/* `now` is the thread before the segment that left `b`. */
static int border_join(struct fast_worker *w, struct fast_border *now, const struct fast_border *b)
{
	bool open = now->state == FAST_OPEN, counts = b->first_ns >= w->plan->since_ns, unknown;
	int err = 0;

	w->cpu = b->first_cpu;
	unknown = open && b->first && now->open.losses != fast_losses(w, b->first_ns);

	if (open && b->first_marked)
		now->open.marked = true;
	if (unknown)
		w->unknown += counts;
	else if (b->first == FAST_BEGIN)
		w->unmatched_begin += open && counts;
	else if (b->first == FAST_END && (!open || b->first_ns < now->open.start_ns))
		w->unmatched_end += counts;
	else if (b->first == FAST_END)
		err = fast_emit(w, &now->open, b->first_ns);
	if (b->state == FAST_UNKNOWN) /* only marks, if anything */
		return 0;
	now->state = b->state;
	now->open = b->open;
	return err;
}

static int thread_join(struct fast_worker *w, struct hash_table *threads,
		       const struct fast_border *b)
{
	bool is_new;
	struct joined *j = hash_add_u64(threads, fast_thread_id(b->pid, b->tid), &is_new);

	if (!j)
		return FAST_UNSUITED;
	if (is_new)
		j->b = (struct fast_border){.pid = b->pid, .tid = b->tid, .state = FAST_CLOSED};
	return border_join(w, &j->b, b);
}

static int borders_join(struct fast_worker *w, struct fast_plan *plan, uint64_t *ret_open)
{
	struct hash_table threads = HASH_TABLE(struct joined, 1, FAST_THREADS_MAX);
	struct joined *j;
	int err = 0;

	for (size_t s = 0; s < plan->nr_segments && !err; s++)
		for (unsigned int i = 0; i < plan->segments[s].nr_borders && !err; i++)
			err = thread_join(w, &threads, &plan->segments[s].border[i]);
	for (uint32_t at = 0; (j = hash_next(&threads, &at));) {
		if (j->b.state != FAST_OPEN)
			continue;
		*ret_open += j->b.open.losses == plan->nr_losses;
		w->unknown += j->b.open.losses != plan->nr_losses;
	}
	hash_deinit(&threads);
	if (!err && w->doubt)
		err = FAST_UNSUITED;
	return err ? err : fast_flush(w);
}

static int parts_merge(struct fast_worker **w, const struct fast_plan *plan, void **ret_state)
{
	const struct span_fold *fold = plan->fold;
	void *state = NULL;
	int err = fold->open(fold->arg, &state);

	for (unsigned int i = 0; i < plan->jobs && !err; i++)
		err = fold->merge(state, w[i]->state);
	if (err && state)
		fold->close(state);
	else
		*ret_state = state;
	return err;
}

static int segments_join(struct fast_worker **w, struct fast_plan *plan, struct pairing *p,
			 void **ret_state)
{
	struct pair_counts all = {0};
	uint64_t begins = 0, lost_records = 0;
	int err = borders_join(w[0], plan, &all.open);

	for (unsigned int i = 0; i < plan->jobs; i++) {
		all.spans += w[i]->spans;
		all.before += w[i]->before;
		all.unmatched_begin += w[i]->unmatched_begin;
		all.unmatched_end += w[i]->unmatched_end;
		all.unknown += w[i]->unknown;
		lost_records += w[i]->lost_records;
		begins += w[i]->begins;
	}
	/* The index lists begins, and all losses must have been known before. */
	if (!err && (!begins || lost_records != plan->nr_lost_records))
		err = FAST_UNSUITED;
	if (!err)
		err = parts_merge(w, plan, ret_state);
	if (err)
		return err;
	p->counts = all;
	p->nr_begins = begins;
	return 0;
}

static int workers_run(struct fast_worker **w, struct fast_plan *plan)
{
	pthread_t thread[FAST_JOBS_MAX];
	unsigned int nr = 1;
	int err = 0;

	while (nr < plan->jobs && !pthread_create(&thread[nr], NULL, worker_run, w[nr]))
		nr++;
	worker_run(w[0]); /* this thread works, too */
	while (nr > 1)
		pthread_join(thread[--nr], NULL);
	for (unsigned int i = 0; i < plan->jobs; i++)
		err = w[i]->err ? w[i]->err : err;
	return err;
}

static int plan_run(struct fast_plan *plan, struct pairing *p, void **ret_state)
{
	struct fast_worker *w[FAST_JOBS_MAX] = {0};
	int err = 0;

	for (unsigned int i = 0; !err && i < plan->jobs; i++)
		err = (w[i] = worker_new(plan)) ? 0 : -ENOMEM;
	if (!err)
		err = fast_losses_read(w[0], p) ? 0 : FAST_UNSUITED;
	if (!err)
		err = workers_run(w, plan);
	if (!err)
		err = segments_join(w, plan, p, ret_state);
	debug("read", "fast path: %s (%d), %zu segments, %u workers", err ? "left" : "done", err,
	      plan->nr_segments, plan->jobs);
	for (unsigned int i = 0; i < FAST_JOBS_MAX; i++)
		worker_free(w[i]);
	return err;
}

bool fast_path_run(struct reader *r, struct pairing *p, const struct span_fold *fold,
		   const struct pairing_options *opt, void **ret_state)
{
	struct fast_plan *plan = calloc(1, sizeof(*plan));
	bool done = plan && fast_plan_make(plan, r, p, fold, opt) && !plan_run(plan, p, ret_state);

	if (done && plan->rows)
		plan->rows->finish(r);
	else if (done)
		r->info.lost += plan->lost;
	fast_plan_free(plan);
	return done;
}
