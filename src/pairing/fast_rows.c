// SPDX-License-Identifier: GPL-2.0-or-later
/* The fast path over the rows of a reader (event/rows.h): what is asked for, and a piece as slices of its threads. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "pairing/fast_plan.h"

/* ---- the plan ---- */

static bool kind_add(struct fast_plan *plan, const struct event_type *type, uint8_t role)
{
	struct rows_request *r = &plan->request;

	if (!type->id || r->nr_kinds == ROWS_KINDS_MAX)
		return fast_unsuited("it pairs events that are not ours, or too many");
	plan->role[r->nr_kinds] = role;
	r->kind[r->nr_kinds++] = type;
	return true;
}

static bool kinds_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	_cleanup_free_ uint64_t *counts = calloc(EVENT_TYPES_MAX, sizeof(*counts));

	if (!counts || plan->rows->counts(r, counts))
		return fast_unsuited("events are not counted");
	for (unsigned int i = 0; i < event_types_count(); i++) {
		const struct event_type *type = event_type_at(i);
		uint8_t role = 0;

		if (!counts[i])
			continue;
		if (!fast_type_plan(plan, p, type, &role))
			return false;
		if (role && role != ROLE_LOST && !kind_add(plan, type, role))
			return false;
	}
	return true;
}

static bool value_add(struct rows_request *r, unsigned int kind, const struct field *f)
{
	for (unsigned int i = 0; f && i < r->nr_values; i++)
		if (r->value[i].field == f)
			return true;
	if (!f)
		return true;
	if (r->nr_values == ROWS_VALUES_MAX)
		return false;
	r->value[r->nr_values].kind = kind;
	r->value[r->nr_values++].field = f;
	return true;
}

/* All fields of the begin that are needed. */
static bool values_plan(struct fast_plan *plan)
{
	struct rows_request *r = &plan->request;
	unsigned int kind = 0;
	bool fine;

	while (kind < r->nr_kinds && r->kind[kind] != plan->begin)
		kind++;
	if (kind == r->nr_kinds)
		return fast_unsuited("it has no begin event");
	fine = value_add(r, kind, plan->weight) && value_add(r, kind, plan->size) &&
	       value_add(r, kind, plan->duration) && value_add(r, kind, plan->skip_zero);
	for (unsigned int i = 0; i < plan->nr_labels && fine; i++)
		if (plan->label[i].source >= FAST_FIELD)
			fine = value_add(r, kind, plan->label[i].field) &&
			       value_add(r, kind, plan->label[i].high);
	return fine || fast_unsuited("it groups by too many fields");
}

/* What comes after a piece is not older than the next one's first event, since they are sorted by it. */
static bool pieces_plan(struct fast_plan *plan)
{
	const struct rows_source *s = &plan->rows_source;

	plan->pieces = calloc(s->nr_pieces + 1, sizeof(*plan->pieces));
	for (size_t i = 0; i < s->nr_pieces && plan->pieces; i++)
		plan->pieces[i] = (struct fast_piece){
			.first_ns = s->piece[i].first_ns,
			.last_ns = s->piece[i].last_ns,
			.watermark_ns = i + 1 < s->nr_pieces ? s->piece[i + 1].first_ns : 0,
			.bytes = s->piece[i].bytes,
			.wanted = s->piece[i].first_ns < plan->until_ns,
		};
	plan->nr_pieces = s->nr_pieces;
	return plan->pieces;
}

bool fast_rows_plan(struct fast_plan *plan, struct reader *r, struct pairing *p)
{
	plan->rows = r->ops->rows;
	plan->reader = r;
	if (!plan->rows->open(r, &plan->rows_source))
		return fast_unsuited("the reader has no rows of this input");
	if (!kinds_plan(plan, r, p) || !values_plan(plan) || !pieces_plan(plan))
		return false;
	plan->rows_plan = plan->rows->plan(r, &plan->request);
	return plan->rows_plan || fast_unsuited("the reader has no rows of these fields");
}

/* ---- a piece ---- */

static bool rows_alloc(struct fast_worker *w, struct rows_data *to, uint32_t nr)
{
	const struct rows_request *r = &w->plan->request;
	bool fine = true;

	to->kind = fast_alloc(w, nr);
	to->run = fast_alloc(w, nr * sizeof(*to->run));
	for (unsigned int i = 0; i < r->nr_kinds; i++)
		fine = (to->step[i] = fast_alloc(w, nr * sizeof(*to->step[i]))) && fine;
	for (unsigned int i = 0; i < r->nr_values; i++)
		fine = (to->value[i] = fast_alloc(w, nr * sizeof(*to->value[i]))) && fine;
	return fine && to->kind && to->run;
}

static void chunk_bind(const struct fast_plan *plan, const struct rows_data *rows, size_t i,
		       struct fast_chunk *c)
{
	*c = (struct fast_chunk){.first_ns = plan->pieces[i].first_ns,
				 .last_ns = plan->pieces[i].last_ns,
				 .cpu = rows->cpu,
				 .nr_kinds = plan->request.nr_kinds,
				 .begin_kind = COLUMNS_KINDS_MAX,
				 .sequence = rows->kind};
	for (unsigned int k = 0; k < c->nr_kinds; k++) {
		c->role[k] = plan->role[k];
		c->step[k] = rows->step[k];
		if (c->role[k] & ROLE_BEGIN)
			c->begin_kind = k;
	}
}

int fast_rows_load(struct fast_worker *w, size_t i)
{
	const struct fast_plan *plan = w->plan;
	struct fast_chunk *c = fast_alloc(w, sizeof(*c));
	uint32_t row[COLUMNS_KINDS_MAX] = {0};
	struct rows_data rows = {0};
	bool fine, calm = plan->pieces[i].last_ns - plan->pieces[i].first_ns < CALM_STEP;
	int err = 0;

	if (!c || !rows_alloc(w, &rows, plan->rows_source.piece[i].nr_events))
		return -ENOMEM;
	if (!plan->rows->read(w->cursor, plan->rows_plan, i, &rows))
		return FAST_UNSUITED;
	chunk_bind(plan, &rows, i, c);
	w->rows = &rows;
	fine = fast_begins_decode(w, c, c->begin_kind);
	w->rows = NULL;
	for (uint32_t k = 0; k < rows.nr_runs && !err && fine; k++) {
		const struct rows_run *run = &rows.run[k];
		struct column_thread t = {.pid = run->pid, .tid = run->tid, .vcpu = run->vcpu,
					  .start = run->start, .nr = run->nr,
					  .first_ns = run->first_ns};

		err = fast_slice_add(w, c, &t, calm, row);
	}
	return fine ? err : FAST_UNSUITED;
}
