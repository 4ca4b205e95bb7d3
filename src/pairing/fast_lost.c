// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Losses on the fast path. A report of lost events makes all that is open at its time unknown, in every thread; so
 * workers must know all reports of the file before they start. They are few: the chunks that hold them are read first.
 */
#include <stdlib.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/order.h"
#include "pairing/fast_internal.h"

struct report {
	uint64_t time_ns, until_ns;
	uint32_t cpu;
	bool first;
};

struct reports {
	struct report *item;
	size_t nr, max;
};

static bool report_add(struct reports *all, struct report report)
{
	if (all->nr == all->max) {
		size_t max = all->max ? 2 * all->max : 64;
		void *more = realloc(all->item, max * sizeof(*all->item));

		if (!more)
			return false;
		all->item = more;
		all->max = max;
	}
	all->item[all->nr++] = report;
	return true;
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

/* As pair.c's lost(): does the analyzer look at the lost event's type? */
static bool is_of(const struct pairing *p, uint64_t event)
{
	const struct event_type *t = event_type_ours((unsigned int)event);

	return !t || analyzer_wants(p->a, t->name);
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
			if (p->a->end && is_of(p, v[2] ? v[2][at] : 0) &&
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

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	if (x->until_ns != y->until_ns)
		return x->until_ns < y->until_ns ? -1 : 1;
	return x->cpu != y->cpu ? order_u64(x->cpu, y->cpu) : (int)x->first - (int)y->first;
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

bool fast_losses_read(struct fast_worker *w, const struct pairing *p)
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

/* ---- asked by workers ---- */

/* The end of the newest gap of this CPU before the event; 0: none. */
static uint64_t newest_gap(struct fast_worker *w, uint32_t cpu, uint64_t time_ns)
{
	const struct rows_source *s = &w->plan->rows_source;
	size_t lo = array_prefix(s->nr_gaps, i,
				 s->gap[i].cpu < cpu ||
					 (s->gap[i].cpu == cpu && s->gap[i].time_ns < time_ns));

	if (lo < s->nr_gaps && s->gap[lo].cpu == cpu && s->gap[lo].time_ns == time_ns &&
	    cpu != w->cpu)
		w->doubt = true; /* the order is only known within one CPU */
	return lo && s->gap[lo - 1].cpu == cpu ? s->gap[lo - 1].until_ns : 0;
}

bool fast_crosses_gap(struct fast_worker *w, const struct fast_open *o, uint64_t end_ns)
{
	if (!w->plan->rows_source.nr_gaps)
		return false;
	return newest_gap(w, o->cpu, end_ns) > o->start_ns ||
	       newest_gap(w, w->cpu, end_ns) > o->start_ns;
}

/* Does a report of the event's own time come before it? The order is only known within one CPU. */
static bool loss_is_before(struct fast_worker *w, size_t i)
{
	const struct fast_plan *p = w->plan;
	bool is_only = i + 1 == p->nr_losses || p->losses[i + 1].time_ns != p->losses[i].time_ns;

	if (w->cpu == FAST_CPU_UNKNOWN || p->losses[i].cpu != w->cpu || !is_only)
		w->doubt = true;
	return p->losses[i].first;
}

uint64_t fast_losses(struct fast_worker *w, uint64_t time_ns)
{
	const struct fast_plan *p = w->plan;
	size_t lo = array_prefix(p->nr_losses, i, p->losses[i].time_ns < time_ns);

	if (lo < p->nr_losses && p->losses[lo].time_ns == time_ns)
		lo += loss_is_before(w, lo);
	w->now.after_ns = lo ? p->losses[lo - 1].time_ns : 0;
	w->now.before_ns = lo < p->nr_losses ? p->losses[lo].time_ns : UINT64_MAX;
	w->now.blind_until_ns = lo ? p->losses[lo - 1].blind_until_ns : 0;
	w->now.losses = lo;
	return lo;
}
