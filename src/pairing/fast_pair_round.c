// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A round, thread by thread. Its records come as slices, usually one after the other in time: then they are paired in
 * place (fast_pair.c). A thread that changed its CPU in the middle of a round may have slices that overlap: then its
 * events are sorted first, as on the slow path (by time; equal times in the order of the file).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pairing/fast_internal.h"

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

/* Merges two lists in order of their first times; of equal ones, those of `a` come first. */
static struct fast_slice *slices_merge(struct fast_slice *a, struct fast_slice *b)
{
	struct fast_slice *all = NULL, **tail = &all;

	while (a && b) {
		struct fast_slice **oldest = b->first_ns < a->first_ns ? &b : &a;

		*tail = *oldest;
		tail = &(*oldest)->next;
		*oldest = (*oldest)->next;
	}
	*tail = a ? a : b;
	return all;
}

/* A thread that moved from one CPU to another and back: its runs are in order one by one. */
static struct fast_slice *slices_sort(struct fast_slice *list, uint32_t nr)
{
	struct fast_slice *half = list;

	if (nr < 2)
		return list;
	for (uint32_t i = 1; i < nr / 2; i++)
		half = half->next;
	struct fast_slice *rest = half->next;

	half->next = NULL;
	return slices_merge(slices_sort(list, nr / 2), slices_sort(rest, nr - nr / 2));
}

static void runs_sort(struct fast_thread *th)
{
	uint32_t nr = 0;

	for (const struct fast_slice *s = th->slices; s; s = s->next)
		nr++;
	th->slices = slices_sort(th->slices, nr);
}

static int items_reserve(struct fast_worker *w, size_t nr)
{
	void *more;

	if (nr <= w->max_items)
		return 0;
	more = realloc(w->items, 2 * nr * sizeof(*w->items));
	if (!more)
		return -ENOMEM;
	w->items = more;
	w->max_items = 2 * nr;
	return 0;
}

static int items_gather(struct fast_worker *w, const struct fast_thread *th, size_t *ret_nr)
{
	size_t nr = th->nr_carry;
	int err;

	for (const struct fast_slice *s = th->slices; s; s = s->next)
		nr += s->nr;
	err = items_reserve(w, nr);
	if (err)
		return err;
	for (nr = 0; nr < th->nr_carry; nr++)
		w->items[nr] = th->carry[nr];
	for (const struct fast_slice *s = th->slices; s; s = s->next) {
		struct fast_walk at = {.time = s->base_ns};

		memcpy(at.row, s->row, s->chunk->nr_kinds * sizeof(at.row[0]));
		for (; at.i < s->nr; at.i++) {
			unsigned int k = s->chunk->sequence[s->start + at.i];
			uint32_t row = at.row[k]++;

			at.time += s->chunk->step[k][row];
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

static int by_time(const void *a, const void *b)
{
	const struct fast_item *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

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
		runs_sort(th);
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
