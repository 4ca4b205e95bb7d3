// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Third stage of the fast path: a round, thread by thread. A thread's records come as slices, usually one after the
 * other in time: then they are paired in place, and where begins and ends just alternate, the columns themselves are
 * the spans. A thread that changed its CPU in the middle of a round may have slices that overlap: then its events are
 * sorted first, as on the slow path (by time; equal times in the order of the file). Events younger than the round's
 * watermark are carried into the next round.
 */
#include <errno.h>

#include "base/array.h"
#include "base/order.h"
#include "pairing/fast_internal.h"

/* A position in a slice. */
struct fast_walk {
	uint32_t i;
	uint64_t time; /* of the previous record */
	uint32_t row[COLUMNS_KINDS_MAX];
};

static struct fast_walk walk_start(const struct fast_slice *s)
{
	struct fast_walk at = {.time = s->base_ns};

	memcpy(at.row, s->row, s->chunk->nr_kinds * sizeof(at.row[0]));
	return at;
}

/* Moves to the next record of the slice: at->time is its time then. Its kind; *ret_row is its row. */
static inline unsigned int walk_next(const struct fast_slice *s, struct fast_walk *at,
				     uint32_t *ret_row)
{
	const struct fast_chunk *c = s->chunk;
	unsigned int k = c->sequence[s->start + at->i++];

	*ret_row = at->row[k]++;
	at->time += c->step[k][*ret_row];
	return k;
}

/* Has the time window begun? Events from its end on are not paired. */
static inline bool fast_in_window(const struct fast_worker *w, uint64_t ns)
{
	return ns >= w->plan->since_ns;
}

/* ---- spans to the fold ---- */

int fast_flush(struct fast_worker *w)
{
	const struct fast_plan *p = w->plan;
	struct spans s = {.nr = w->out.nr,
			  .ns = w->out.ns,
			  .end_ns = w->out.end_ns,
			  .weight = p->weight ? w->out.weight : NULL,
			  .bytes = p->size ? w->out.bytes : NULL,
			  .marked = w->out.marked};

	if (!s.nr)
		return 0;
	for (unsigned int l = 0; l < p->nr_labels; l++)
		s.label[l] = w->out.label[l];
	w->spans += s.nr;
	w->out.nr = 0;
	return p->fold->spans(w->state, &s);
}

int fast_emit(struct fast_worker *w, const struct fast_open *o, uint64_t end_ns)
{
	if (!fast_in_window(w, end_ns))
		return 0;
	w->before += !fast_in_window(w, o->start_ns);
	unsigned int n = w->out.nr++;

	w->out.ns[n] = end_ns - o->start_ns;
	w->out.end_ns[n] = end_ns;
	w->out.weight[n] = o->weight;
	w->out.bytes[n] = o->bytes;
	w->out.marked[n] = o->marked;
	for (unsigned int l = 0; l < w->plan->nr_labels; l++)
		w->out.label[l][n] = o->label[l];
	return w->out.nr == SPANS_BATCH ? fast_flush(w) : 0;
}

/* ---- losses ---- */

static inline uint64_t fast_losses_now(struct fast_worker *w, uint64_t time_ns)
{
	if (time_ns > w->now.after_ns && time_ns < w->now.before_ns)
		return w->now.losses;
	return fast_losses(w, time_ns);
}

/* Does the slice lie wholly before the start of the time window, or wholly after it? */
static bool is_one_side(const struct fast_worker *w, const struct fast_slice *s)
{
	return fast_in_window(w, s->first_ns) || !fast_in_window(w, s->last_ns);
}

/* Is the slice free of losses, and outside the window of any earlier one? */
static bool is_seen(struct fast_worker *w, const struct fast_slice *s)
{
	uint64_t losses = fast_losses_now(w, s->first_ns), blind = w->now.blind_until_ns;

	return blind <= s->first_ns && fast_losses_now(w, s->last_ns) == losses;
}

/* ---- one event ---- */

static uint64_t label_same(const struct fast_value *l, const struct fast_slice *s)
{
	switch (l->source) {
	case FAST_LACKING:
		return LABEL_UNKNOWN;
	case FAST_PID:
		return s->pid;
	case FAST_TID:
		return s->tid;
	case FAST_VCPU:
		return s->vcpu;
	default:
		return 0;
	}
}

static inline void begin_read(const struct fast_worker *w, const struct fast_slice *s, uint32_t row,
			      uint64_t time, struct fast_open *o)
{
	const struct fast_plan *p = w->plan;
	const struct fast_chunk *c = s->chunk;

	o->start_ns = time;
	o->marked = false;
	o->weight = c->weight ? c->weight[row] : 1;
	o->bytes = c->bytes ? c->bytes[row] : 0;
	for (unsigned int l = 0; l < p->nr_labels; l++)
		o->label[l] = c->label[l] ? c->label[l][row] : label_same(&p->label[l], s);
}

static inline int end_step(struct fast_worker *w, struct fast_border *b, uint64_t time)
{
	if (b->state == FAST_OPEN) {
		b->state = FAST_CLOSED;
		if (b->open.losses != fast_losses_now(w, time))
			w->unknown += fast_in_window(w, time);
		else
			return fast_emit(w, &b->open, time);
		return 0;
	}
	if (b->state == FAST_CLOSED) {
		w->unmatched_end += fast_in_window(w, time);
		return 0;
	}
	b->first = FAST_END;
	b->first_ns = time;
	b->first_cpu = w->cpu;
	b->state = FAST_CLOSED;
	return 0;
}

/* A begin replaces the open one, if any. Returns b->open.losses; the caller fills the rest of b->open. */
static inline uint64_t begin_step(struct fast_worker *w, struct fast_border *b, uint64_t time)
{
	uint64_t losses = fast_losses_now(w, time);

	if (b->state == FAST_OPEN && b->open.losses != losses)
		w->unknown += fast_in_window(w, time);
	else
		w->unmatched_begin += b->state == FAST_OPEN && fast_in_window(w, time);
	if (b->state == FAST_UNKNOWN) {
		b->first = FAST_BEGIN;
		b->first_ns = time;
		b->first_cpu = w->cpu;
	}
	b->state = FAST_OPEN;
	/* As in pairing_begin(): within a window of loss, the end that follows may be another span's. */
	return losses - (time < w->now.blind_until_ns);
}

static inline void mark_step(struct fast_border *b)
{
	if (b->state == FAST_OPEN)
		b->open.marked = true;
	else if (b->state == FAST_UNKNOWN)
		b->first_marked = true;
}

static int point_emit(struct fast_worker *w, const struct fast_slice *s, uint32_t row,
		      uint64_t time)
{
	const struct fast_chunk *c = s->chunk;
	struct fast_open o;

	begin_read(w, s, row, time, &o);
	if (c->duration)
		o.start_ns = c->duration[row] < time ? time - c->duration[row] : 0;
	return fast_emit(w, &o, time);
}

/* In the order in which pairing_event() looks at the roles of one event. */
static inline int event_step(struct fast_worker *w, struct fast_thread *th,
			     const struct fast_slice *s, unsigned int role, uint32_t row,
			     uint64_t time)
{
	struct fast_border *b = &th->b;
	int err = role & ROLE_END ? end_step(w, b, time) : 0;

	if (role & ROLE_BEGIN && !(s->chunk->skip && !s->chunk->skip[row])) {
		w->begins++;
		if (w->plan->point)
			return err ? err : point_emit(w, s, row, time);
		uint64_t losses = begin_step(w, b, time);

		begin_read(w, s, row, time, &b->open);
		b->open.losses = losses;
	}
	if (role & ROLE_MARK)
		mark_step(b);
	return err;
}

/* ---- single events: kept for the next round, or to be sorted ---- */

static void fast_item_read(const struct fast_worker *w, const struct fast_slice *s,
			   unsigned int role, uint32_t row, uint64_t time, struct fast_item *it)
{
	bool skipped = s->chunk->skip && role & ROLE_BEGIN && !s->chunk->skip[row];

	*it = (struct fast_item){
		.time_ns = time, .cpu = s->chunk->cpu, .role = (uint8_t)role, .slice = s};
	if (skipped)
		it->role &= (uint8_t)~ROLE_BEGIN;
	else if (role & ROLE_BEGIN)
		begin_read(w, s, row, time, &it->open);
	if (it->role & ROLE_BEGIN && s->chunk->duration)
		it->open.start_ns =
			s->chunk->duration[row] < time ? time - s->chunk->duration[row] : 0;
}

static int fast_item_step(struct fast_worker *w, struct fast_thread *th, const struct fast_item *it)
{
	struct fast_border *b = &th->b;
	int err;

	w->cpu = it->cpu;
	err = it->role & ROLE_END ? end_step(w, b, it->time_ns) : 0;

	if (it->role & ROLE_BEGIN) {
		w->begins++;
		if (w->plan->point)
			return err ? err : fast_emit(w, &it->open, it->time_ns);
		uint64_t losses = begin_step(w, b, it->time_ns);

		b->open = it->open;
		b->open.losses = losses;
	}
	if (it->role & ROLE_MARK)
		mark_step(b);
	return err;
}

static int fast_carry_add(const struct fast_worker *w, struct fast_thread *th,
			  const struct fast_item *it)
{
	if (it->time_ns >= w->plan->until_ns)
		return 0;
	if (th->nr_carry == FAST_CARRY_MAX ||
	    array_reserve(th->carry, th->nr_carry + 1, th->max_carry))
		return FAST_UNSUITED;
	th->carry[th->nr_carry] = *it;
	th->carry[th->nr_carry++].slice = NULL; /* its round is over */
	return 0;
}

/* ---- a slice, in place ---- */

/* How many of a rising slice's records are older than the watermark. Searched from the end: few are not. */
static uint32_t slice_older(const struct fast_slice *s, uint64_t watermark_ns, uint64_t *ret_last)
{
	const struct fast_chunk *c = s->chunk;
	uint32_t left[COLUMNS_KINDS_MAX], n = s->nr;
	uint64_t time = s->last_ns;

	*ret_last = time;
	if (time < watermark_ns)
		return n;
	memcpy(left, s->row_end, c->nr_kinds * sizeof(*left));
	while (n && time >= watermark_ns) {
		unsigned int k = c->sequence[s->start + --n];

		time -= c->step[k][--left[k]];
	}
	*ret_last = time;
	return n;
}

static int walk_run(struct fast_worker *w, struct fast_thread *th, const struct fast_slice *s,
		    struct fast_walk *at, uint32_t end)
{
	const struct fast_chunk *c = s->chunk;
	int err = 0;

	while (at->i < end && !err) {
		uint32_t row;
		unsigned int k = walk_next(s, at, &row);

		if (c->role[k])
			err = event_step(w, th, s, c->role[k], row, at->time);
	}
	return err;
}

static int walk_carry(struct fast_worker *w, struct fast_thread *th, const struct fast_slice *s,
		      struct fast_walk *at)
{
	const struct fast_chunk *c = s->chunk;
	struct fast_item it;
	int err = 0;

	while (at->i < s->nr && !err) {
		uint32_t row;
		unsigned int k = walk_next(s, at, &row);

		if (!c->role[k])
			continue;
		fast_item_read(w, s, c->role[k], row, at->time, &it);
		err = fast_carry_add(w, th, &it);
	}
	return err;
}

/* Alternating begins and ends: pair i is row b + i and row e + i, and its duration is the end's step. */
static int pairs_fold(struct fast_worker *w, const struct fast_slice *s, uint32_t b, uint32_t e,
		      const uint64_t *end_step_ns, uint32_t nr, uint64_t time)
{
	const struct fast_plan *p = w->plan;
	const struct fast_chunk *c = s->chunk;
	const uint64_t *begin_step_ns = c->step[c->begin_kind];
	int err = 0;

	for (uint32_t at = 0; at < nr && !err; at += SPANS_BATCH) {
		struct spans sp = {.nr = nr - at < SPANS_BATCH ? nr - at : SPANS_BATCH,
				   .ns = end_step_ns + e + at,
				   .weight = c->weight ? c->weight + b + at : NULL,
				   .bytes = c->bytes ? c->bytes + b + at : NULL};

		for (unsigned int l = 0; l < p->nr_labels; l++)
			sp.label[l] = c->label[l] ? c->label[l] + b + at : w->same[l];
		for (uint32_t i = 0; p->fold->wants_ends && i < sp.nr; i++)
			w->ends[i] = time += begin_step_ns[b + at + i] + sp.ns[i];
		sp.end_ns = w->ends;
		w->spans += sp.nr;
		err = p->fold->spans(w->state, &sp);
	}
	return err;
}

static void same_fill(struct fast_worker *w, const struct fast_slice *s)
{
	for (unsigned int l = 0; l < w->plan->nr_labels; l++) {
		uint64_t v = label_same(&w->plan->label[l], s);

		for (unsigned int i = 0; !s->chunk->label[l] && i < SPANS_BATCH; i++)
			w->same[l][i] = v;
	}
}

/* A pure slice up to `end`; the record before `end` is at last_ns. */
static int pure_run(struct fast_worker *w, struct fast_thread *th, const struct fast_slice *s,
		    struct fast_walk *at, uint32_t end, uint64_t last_ns)
{
	const struct fast_chunk *c = s->chunk;
	const uint8_t *seq = c->sequence + s->start;
	unsigned int ends = seq[0] == c->begin_kind ? seq[1] : seq[0];
	int err = 0;

	if (seq[0] == ends) /* of an earlier span */
		err = walk_run(w, th, s, at, end ? 1 : 0);
	uint32_t nr = (end - at->i) / 2;

	if (err || !nr)
		return err ? err : walk_run(w, th, s, at, end);
	begin_step(w, &th->b, at->time + c->step[c->begin_kind][at->row[c->begin_kind]]);
	th->b.state = FAST_CLOSED;
	w->begins += nr;
	same_fill(w, s);
	if (fast_in_window(w, s->first_ns)) /* else all of it is before */
		err = pairs_fold(w, s, at->row[c->begin_kind], at->row[ends], c->step[ends], nr,
				 at->time);
	at->i += 2 * nr;
	at->row[c->begin_kind] += nr;
	at->row[ends] += nr;
	at->time = last_ns;
	if (at->i < end) /* a begin is the last record older than the watermark */
		at->time -= c->step[c->begin_kind][at->row[c->begin_kind]];
	return err ? err : walk_run(w, th, s, at, end);
}

/*
 * One thread's events, in order of time: a slice in place up to the watermark, the others are kept (prime: these
 * alone); or one by one.
 */
static int fast_slice_run(struct fast_worker *w, struct fast_thread *th, const struct fast_slice *s,
			  uint64_t watermark_ns, bool prime)
{
	struct fast_walk at = walk_start(s);
	uint64_t last_ns;
	uint32_t row, end = slice_older(s, watermark_ns, &last_ns);
	int err = 0;

	w->cpu = s->chunk->cpu;
	if (prime) {
		while (at.i < end)
			walk_next(s, &at, &row);
	} else if (s->pure && !w->plan->point && !s->chunk->skip && is_one_side(w, s) &&
		   is_seen(w, s)) {
		err = pure_run(w, th, s, &at, end, last_ns);
	} else {
		err = walk_run(w, th, s, &at, end);
	}
	return err || at.i == s->nr ? err : walk_carry(w, th, s, &at);
}

/* ---- a round ---- */

/*
 * Is the order of equal times known? Of rows it is on one CPU; of a file's chunks it is the file's, except for a thread
 * with two vCPU numbers in one chunk.
 */
static bool tie_is_doubtful(const struct fast_chunk *a, uint32_t a_cpu, const struct fast_chunk *b)
{
	return a_cpu != b->cpu || (a_cpu == FAST_CPU_UNKNOWN && a == b);
}

/* Are the thread's carried events and slices in order of time? */
static bool in_order(const struct fast_thread *th)
{
	const struct fast_item *carried = th->nr_carry ? &th->carry[th->nr_carry - 1] : NULL;
	uint64_t last = carried ? carried->time_ns : 0;
	uint32_t cpu = carried ? carried->cpu : FAST_CPU_UNKNOWN;
	const struct fast_chunk *before = NULL;

	for (const struct fast_slice *s = th->slices; s; s = s->next) {
		bool tie = s->first_ns == last && (before || carried);

		if (!s->rising || s->first_ns < last ||
		    (tie && tie_is_doubtful(before, cpu, s->chunk)))
			return false;
		last = s->last_ns;
		before = s->chunk;
		cpu = before->cpu;
	}
	return true;
}

static int items_gather(struct fast_worker *w, const struct fast_thread *th, size_t *ret_nr)
{
	size_t nr = th->nr_carry;
	int err;

	for (const struct fast_slice *s = th->slices; s; s = s->next)
		nr += s->nr;
	err = array_reserve(w->items, nr, w->max_items);
	if (err)
		return err;
	for (nr = 0; nr < th->nr_carry; nr++)
		w->items[nr] = th->carry[nr];
	for (const struct fast_slice *s = th->slices; s; s = s->next) {
		struct fast_walk at = walk_start(s);

		while (at.i < s->nr) {
			uint32_t row;
			unsigned int k = walk_next(s, &at, &row);

			if (s->chunk->role[k])
				fast_item_read(w, s, s->chunk->role[k], row, at.time,
					       &w->items[nr++]);
		}
	}
	for (size_t i = 0; i < nr; i++)
		w->items[i].order = i;
	*ret_nr = nr;
	return 0;
}

ORDER_BY(by_time, struct fast_item, time_ns, order)

static bool ties_doubtful(const struct fast_item *it, size_t nr)
{
	for (size_t i = 1; i < nr; i++) {
		const struct fast_slice *a = it[i - 1].slice, *b = it[i].slice;

		if (it[i].time_ns != it[i - 1].time_ns)
			continue;
		if (it[i].cpu != it[i - 1].cpu ||
		    (a && b && a != b && tie_is_doubtful(a->chunk, it[i - 1].cpu, b->chunk)))
			return true;
	}
	return false;
}

static int sorted_run(struct fast_worker *w, struct fast_thread *th, uint64_t watermark_ns,
		      bool prime)
{
	size_t nr = 0;
	int err = items_gather(w, th, &nr);

	if (err)
		return err;
	qsort(w->items, nr, sizeof(*w->items), by_time);
	if (ties_doubtful(w->items, nr))
		return FAST_UNSUITED;
	th->nr_carry = 0;
	for (size_t i = 0; i < nr && !err; i++)
		if (w->items[i].time_ns >= watermark_ns)
			err = fast_carry_add(w, th, &w->items[i]);
		else if (!prime)
			err = fast_item_step(w, th, &w->items[i]);
	return err;
}

static int thread_run(struct fast_worker *w, struct fast_thread *th, uint64_t watermark_ns,
		      bool prime)
{
	unsigned int kept = 0;
	int err = 0;

	if (w->plan->rows && !in_order(th))
		fast_slices_sort(th);
	if (!in_order(th))
		return sorted_run(w, th, watermark_ns, prime);
	for (unsigned int i = 0; i < th->nr_carry && !err; i++)
		if (th->carry[i].time_ns >= watermark_ns)
			th->carry[kept++] = th->carry[i];
		else if (!prime)
			err = fast_item_step(w, th, &th->carry[i]);
	th->nr_carry = kept;
	for (const struct fast_slice *s = th->slices; s && !err; s = s->next)
		err = fast_slice_run(w, th, s, watermark_ns, prime);
	return err;
}

int fast_round_pair(struct fast_worker *w, uint64_t watermark_ns, bool prime)
{
	int err = 0;

	for (unsigned int i = 0; i < w->nr_threads && !err; i++) {
		struct fast_thread *th = &w->threads[i];

		if (th->slices || th->nr_carry)
			err = thread_run(w, th, watermark_ns, prime);
		th->slices = NULL;
		th->tail = &th->slices;
	}
	fast_round_end(w);
	return err;
}
