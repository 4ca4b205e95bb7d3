// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The fast lane's workers: each takes the next segment, pairs it round by round and leaves, for each thread, what
 * reaches over the segment's ends. Those pieces are put together when all are done, in the file's order.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "pairing/fast_plan.h"

enum {
	SLOTS_OF_THREADS = 4 * LANE_THREADS_MAX,
	JOBS_MAX = 64,
};

/* ---- a worker ---- */

struct lane_thread *lane_thread_get(struct lane_worker *w, uint32_t pid, uint32_t tid)
{
	uint32_t i = (tid * 0x9e3779b1u ^ pid * 0x85ebca6bu) % SLOTS_OF_THREADS;

	for (; w->slot[i]; i = (i + 1) % SLOTS_OF_THREADS) {
		struct lane_thread *th = &w->threads[w->slot[i] - 1];

		if (th->b.tid == tid && th->b.pid == pid)
			return th;
	}
	if (w->nr_threads == LANE_THREADS_MAX)
		return NULL;
	struct lane_thread *th = &w->threads[w->nr_threads];
	struct lane_item *carry = th->carry;
	unsigned int max_carry = th->max_carry;

	w->slot[i] = ++w->nr_threads;
	if (w->nr_threads > w->max_threads)
		w->max_threads = w->nr_threads;
	*th = (struct lane_thread){
		.b = {.pid = pid, .tid = tid}, .carry = carry, .max_carry = max_carry};
	th->tail = &th->slices;
	return th;
}

static void threads_forget(struct lane_worker *w)
{
	memset(w->slot, 0, SLOTS_OF_THREADS * sizeof(*w->slot));
	w->nr_threads = 0;
}

/* What earlier rounds left to this segment: events younger than its first round's beginning. */
static int prime(struct lane_worker *w, const struct lane_round *round)
{
	const struct lane_plan *p = w->plan;
	uint64_t lost_records = w->lost_records;
	int err = 0;

	for (size_t i = 0; i < round->first && !err; i++)
		if (p->wanted[i] && p->src.refs[i].h.last_ns >= round->from_ns)
			err = lane_chunk_load(w, &p->src.refs[i]);
	w->lost_records = lost_records; /* the other segment counts them */
	return err ? err : lane_round_pair(w, round->from_ns, true);
}

static int borders_leave(struct lane_worker *w, struct lane_segment *s)
{
	s->border = calloc(w->nr_threads + 1, sizeof(*s->border));
	if (!s->border)
		return -ENOMEM;
	for (unsigned int i = 0; i < w->nr_threads; i++)
		s->border[s->nr_borders++] = w->threads[i].b;
	return 0;
}

static int segment_run(struct lane_worker *w, struct lane_segment *s)
{
	const struct lane_plan *p = w->plan;
	int err;

	threads_forget(w);
	err = prime(w, &p->rounds[s->first]);
	for (size_t r = s->first; r < s->end && !err; r++) {
		const struct lane_round *round = &p->rounds[r];

		for (size_t i = round->first; i < round->end && !err; i++)
			if (p->wanted[i])
				err = lane_chunk_load(w, &p->src.refs[i]);
		if (!err)
			err = lane_round_pair(w, round->watermark_ns, false);
	}
	if (!err)
		err = w->doubt ? LANE_NO : lane_flush(w);
	return err ? err : borders_leave(w, s);
}

static void *worker_run(void *arg)
{
	struct lane_worker *w = arg;

	while (!w->err) {
		size_t i = __atomic_fetch_add(&w->plan->next_segment, 1, __ATOMIC_RELAXED);

		if (i >= w->plan->nr_segments)
			break;
		w->err = segment_run(w, &w->plan->segments[i]);
		if (w->err) /* nobody need go on */
			__atomic_store_n(&w->plan->next_segment, w->plan->nr_segments,
					 __ATOMIC_RELAXED);
	}
	return NULL;
}

static void worker_free(struct lane_worker *w)
{
	if (!w)
		return;
	if (w->state)
		w->plan->fold->close(w->state);
	lane_blocks_free(w);
	for (unsigned int i = 0; i < w->max_threads; i++)
		free(w->threads[i].carry);
	chunk_loader_free(w->loader);
	columns_free(w->columns);
	free(w->scratch);
	free(w->threads);
	free(w->slot);
	free(w->items);
	free(w);
}

static struct lane_worker *worker_new(struct lane_plan *plan)
{
	struct lane_worker *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->plan = plan;
	w->loader = chunk_loader_new(plan->src.fd, plan->src.file);
	w->columns = columns_new();
	w->scratch = malloc(COLUMNS_RECORDS_MAX * sizeof(*w->scratch));
	w->threads = calloc(LANE_THREADS_MAX, sizeof(*w->threads));
	w->slot = calloc(SLOTS_OF_THREADS, sizeof(*w->slot));
	w->state = plan->fold->open(plan->fold->arg);
	if (w->loader && w->columns && w->scratch && w->threads && w->slot && w->state)
		return w;
	worker_free(w);
	return NULL;
}

/* ---- putting it together ---- */

/* The threads of all segments so far, with what is open. */
struct joined {
	struct lane_border *thread;
	unsigned int nr;
	uint32_t *slot;
};

static struct lane_border *joined_get(struct joined *j, uint32_t pid, uint32_t tid)
{
	uint32_t i = (tid * 0x9e3779b1u ^ pid * 0x85ebca6bu) % SLOTS_OF_THREADS;

	for (; j->slot[i]; i = (i + 1) % SLOTS_OF_THREADS) {
		struct lane_border *b = &j->thread[j->slot[i] - 1];

		if (b->tid == tid && b->pid == pid)
			return b;
	}
	if (j->nr == LANE_THREADS_MAX)
		return NULL;
	j->slot[i] = ++j->nr;
	j->thread[j->nr - 1] = (struct lane_border){.pid = pid, .tid = tid, .state = LANE_CLOSED};
	return &j->thread[j->nr - 1];
}

/* `now` is the thread before the segment that left `b`. */
static int border_join(struct lane_worker *w, struct lane_border *now, const struct lane_border *b)
{
	bool open = now->state == LANE_OPEN,
	     unknown = open && b->first && now->open.losses != lane_losses(w, b->first_ns);
	int err = 0;

	if (open && b->first_marked)
		now->open.marked = true;
	if (unknown)
		w->unknown++;
	else if (b->first == LANE_BEGIN)
		w->unmatched_begin += open;
	else if (b->first == LANE_END && (!open || b->first_ns < now->open.start_ns))
		w->unmatched_end++;
	else if (b->first == LANE_END)
		err = lane_emit(w, &now->open, b->first_ns);
	if (b->state == LANE_UNKNOWN) /* only marks, if anything */
		return 0;
	now->state = b->state;
	now->open = b->open;
	return err;
}

static int borders_join(struct lane_worker *w, struct lane_plan *plan, uint64_t *ret_open)
{
	struct joined j = {
		.thread = calloc(LANE_THREADS_MAX, sizeof(*j.thread)),
		.slot = calloc(SLOTS_OF_THREADS, sizeof(*j.slot)),
	};
	int err = j.thread && j.slot ? 0 : -ENOMEM;

	for (size_t s = 0; s < plan->nr_segments && !err; s++)
		for (unsigned int i = 0; i < plan->segments[s].nr_borders && !err; i++) {
			const struct lane_border *b = &plan->segments[s].border[i];
			struct lane_border *now = joined_get(&j, b->pid, b->tid);

			err = now ? border_join(w, now, b) : LANE_NO;
		}
	for (unsigned int i = 0; i < j.nr; i++) {
		const struct lane_border *b = &j.thread[i];

		if (b->state != LANE_OPEN)
			continue;
		*ret_open += b->open.losses == plan->nr_losses;
		w->unknown += b->open.losses != plan->nr_losses;
	}
	free(j.thread);
	free(j.slot);
	return err ? err : lane_flush(w);
}

static int join(struct lane_worker **w, struct lane_plan *plan, struct pairing *p)
{
	struct pair_counts all = {0};
	uint64_t begins = 0, lost_records = 0;
	int err = borders_join(w[0], plan, &all.open);

	for (unsigned int i = 0; i < plan->jobs && !err; i++) {
		all.spans += w[i]->spans;
		all.unmatched_begin += w[i]->unmatched_begin;
		all.unmatched_end += w[i]->unmatched_end;
		all.unknown += w[i]->unknown;
		lost_records += w[i]->lost_records;
		begins += w[i]->begins;
		err = plan->fold->merge(plan->fold->arg, w[i]->state);
	}
	/* The index promised some; and all losses must have been known before. */
	if (err || !begins || lost_records != plan->nr_lost_records)
		return err ? err : LANE_NO;
	p->counts = all;
	p->nr_begins = begins;
	return 0;
}

static int workers_run(struct lane_worker **w, struct lane_plan *plan)
{
	pthread_t thread[JOBS_MAX];
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

int fastlane_run(struct reader *r, struct pairing *p, unsigned int jobs,
		 const struct fastlane_fold *fold)
{
	struct lane_worker *w[JOBS_MAX] = {0};
	struct lane_plan *plan = calloc(1, sizeof(*plan));
	int err = plan ? 0 : -ENOMEM;

	if (!jobs)
		jobs = (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);
	if (plan) {
		plan->fold = fold;
		err = lane_plan_make(plan, r, p, jobs < JOBS_MAX ? jobs : JOBS_MAX) ? 0 : LANE_NO;
	}
	for (unsigned int i = 0; !err && i < plan->jobs; i++)
		err = (w[i] = worker_new(plan)) ? 0 : -ENOMEM;
	if (!err)
		err = lane_losses_read(w[0], p) ? 0 : LANE_NO;
	if (!err)
		err = workers_run(w, plan);
	if (!err)
		err = join(w, plan, p);
	debug("read", "fast lane: %s (%d), %zu segments, %u workers", err ? "left" : "done", err,
	      plan ? plan->nr_segments : 0, plan ? plan->jobs : 0);
	for (unsigned int i = 0; i < JOBS_MAX; i++)
		worker_free(w[i]);
	if (!err)
		r->info.lost = plan->lost;
	lane_plan_free(plan);
	return !err;
}
