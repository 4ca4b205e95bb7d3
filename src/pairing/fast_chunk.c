// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A chunk for the fast lane: of its columns only the times and what the analyzer groups by are decoded, and the
 * threads' parts are handed to their states. Whatever the long way would have to tell (records that fit no type or
 * lie outside of their chunk) is found here too, and ends the lane.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "pairing/fast_internal.h"

#define CALM_STEP (1ull << 48) /* ns; 43,690 steps below it cannot overflow */

/* ---- memory of a round ---- */

enum { BLOCK_BYTES = 1 << 20 }; /* more than any column takes */

struct lane_block {
	struct lane_block *next;
	size_t used;
	uint8_t data[BLOCK_BYTES] __attribute__((aligned(8)));
};

static void *lane_alloc(struct lane_worker *w, size_t len)
{
	struct lane_block *b = w->blocks;

	len = (len + 7) & ~(size_t)7;
	if (len > BLOCK_BYTES)
		return NULL;
	if (!b || BLOCK_BYTES - b->used < len) {
		b = w->spare;
		if (b)
			w->spare = b->next;
		else if (!(b = malloc(sizeof(*b))))
			return NULL;
		b->next = w->blocks;
		b->used = 0;
		w->blocks = b;
	}
	b->used += len;
	return b->data + b->used - len;
}

void lane_round_end(struct lane_worker *w)
{
	while (w->blocks) {
		struct lane_block *b = w->blocks;

		w->blocks = b->next;
		b->next = w->spare;
		w->spare = b;
	}
}

void lane_blocks_free(struct lane_worker *w)
{
	lane_round_end(w);
	while (w->spare) {
		struct lane_block *b = w->spare;

		w->spare = b->next;
		free(b);
	}
}

/* ---- columns ---- */

static void mask(uint64_t *v, uint32_t rows, unsigned int size, bool is_signed)
{
	unsigned int shift = 64 - 8 * size;

	if (!shift)
		return;
	if (is_signed)
		for (uint32_t i = 0; i < rows; i++)
			v[i] = (uint64_t)((int64_t)(v[i] << shift) >> shift);
	else
		for (uint32_t i = 0; i < rows; i++)
			v[i] = v[i] << shift >> shift;
}

static uint64_t *column_values(struct lane_worker *w, unsigned int column)
{
	const struct column *col = &w->columns->column[column];
	uint64_t *v = lane_alloc(w, w->columns->kind[col->kind].rows * sizeof(*v));

	if (v)
		column_decode(w->columns, column, v, w->scratch);
	return v;
}

uint64_t *lane_steps(struct lane_worker *w, unsigned int kind)
{
	return column_values(w, w->columns->kind[kind].first);
}

/* NULL: it is spread over columns, or out of memory. */
uint64_t *lane_field(struct lane_worker *w, unsigned int kind, const struct field *f)
{
	const struct column_kind *k = &w->columns->kind[kind];
	uint64_t *v;

	for (unsigned int i = k->first + 2u; i < k->first + k->nr; i++) {
		const struct column *col = &w->columns->column[i];

		if (col->offset + col->size <= f->offset || f->offset + f->size <= col->offset)
			continue;
		if (col->offset != f->offset || col->size != f->size)
			return NULL;
		v = column_values(w, i);
		if (v)
			mask(v, k->rows, f->size, f->kind == FIELD_SINT);
		return v;
	}
	v = lane_alloc(w, k->rows * sizeof(*v));
	if (v)
		memset(v, 0, k->rows * sizeof(*v)); /* no column: zeros */
	return v;
}

static void high_add(uint64_t *restrict v, const uint64_t *restrict high, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++)
		v[i] |= high[i] << 32;
}

static uint64_t *label_values(struct lane_worker *w, unsigned int kind, const struct lane_value *l)
{
	uint32_t rows = w->columns->kind[kind].rows;
	uint64_t *v, *high;

	if (l->source == LANE_CPU) {
		v = column_values(w, w->columns->kind[kind].first + 1u);
		if (v)
			mask(v, rows, sizeof(uint16_t), false);
		return v;
	}
	v = lane_field(w, kind, l->field);
	high = l->high && v ? lane_field(w, kind, l->high) : NULL;
	if (!v || (l->high && !high))
		return NULL;
	if (l->high)
		high_add(v, high, rows);
	for (uint32_t i = 0; l->source == LANE_DIR && i < rows; i++)
		v[i] = v[i] == 2;
	for (uint32_t i = 0; l->source == LANE_PAGE && i < rows; i++)
		v[i] &= ~0xfffull;
	return v;
}

static bool optional(struct lane_worker *w, unsigned int kind, const struct field *f,
		     const uint64_t **ret)
{
	return !f || (*ret = lane_field(w, kind, f));
}

static bool begins_decode(struct lane_worker *w, struct lane_chunk *c, unsigned int kind)
{
	const struct lane_plan *p = w->plan;
	const uint64_t *size = NULL;

	for (unsigned int i = 0; i < p->nr_labels; i++)
		if (p->label[i].source >= LANE_CPU &&
		    !(c->label[i] = label_values(w, kind, &p->label[i])))
			return false;
	if (!optional(w, kind, p->weight, &c->weight) || !optional(w, kind, p->size, &size) ||
	    !optional(w, kind, p->duration, &c->duration) ||
	    !optional(w, kind, p->skip_zero, &c->skip))
		return false;
	for (uint32_t i = 0; size && c->weight && i < w->columns->kind[kind].rows; i++)
		((uint64_t *)size)[i] *= c->weight[i];
	c->bytes = size;
	return true;
}

/* ---- a whole chunk ---- */

/* Kinds as the analyzer sees them. False: one that the lane does not know what to do with. */
static bool kinds_take(struct lane_worker *w, struct lane_chunk *c)
{
	const struct columns *cols = w->columns;
	size_t raw = 0;

	c->nr_kinds = cols->nr_kinds;
	c->begin_kind = COLUMNS_KINDS_MAX;
	for (unsigned int k = 0; k < c->nr_kinds; k++) {
		const struct column_kind *kind = &cols->kind[k];
		const struct event_type *type = w->plan->src.types[kind->type];

		c->role[k] = w->plan->role[kind->type];
		if (c->role[k] == ROLE_LOST) {
			w->lost_records += kind->rows;
			c->role[k] = 0;
		}
		raw += (size_t)kind->rows * kind->size;
		if (!type || kind->size < type->size || c->role[k] & LANE_REFUSE)
			return false;
		if (!(c->role[k] & ROLE_BEGIN))
			continue;
		if (c->begin_kind != COLUMNS_KINDS_MAX) /* of other sizes: dynamic text */
			return false;
		c->begin_kind = k;
	}
	return raw == c->h.raw;
}

static uint64_t together(const uint64_t *v, uint32_t nr)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < nr; i++)
		all |= v[i];
	return all;
}

/* Decodes the times. ret_calm: steps are neither backwards nor unheard of. */
static bool times_decode(struct lane_worker *w, struct lane_chunk *c, bool *ret_calm)
{
	uint64_t all = 0;

	for (unsigned int k = 0; k < c->nr_kinds; k++) {
		const uint64_t *step = lane_steps(w, k);

		if (!step)
			return false;
		all |= together(step, w->columns->kind[k].rows);
		c->step[k] = step;
	}
	*ret_calm = all < CALM_STEP;
	return true;
}

/* Times of a thread whose steps are not calm, one by one. False: one lies outside of its chunk. */
static bool slice_walk(const struct lane_chunk *c, struct lane_slice *s)
{
	uint32_t row[COLUMNS_KINDS_MAX];
	uint64_t time = s->base_ns, last = 0;

	memcpy(row, s->row, c->nr_kinds * sizeof(*row));
	s->rising = true;
	for (uint32_t i = 0; i < s->nr; i++) {
		unsigned int k = c->sequence[s->start + i];

		time += c->step[k][row[k]++];
		if (time < c->h.first_ns || time > c->h.last_ns)
			return false;
		if (!i)
			s->first_ns = time;
		s->rising = s->rising && time >= last;
		last = time;
	}
	s->last_ns = last;
	return true;
}

static uint64_t sum(const uint64_t *v, uint32_t nr)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < nr; i++)
		all += v[i];
	return all;
}

/* The same where all steps are calm: sums will do. count: its rows by kind. */
static bool slice_sum(const struct lane_chunk *c, struct lane_slice *s, const uint32_t *count)
{
	unsigned int k = c->sequence[s->start];

	s->rising = true;
	s->first_ns = s->base_ns + c->step[k][s->row[k]];
	s->last_ns = s->base_ns;
	for (k = 0; k < c->nr_kinds; k++)
		s->last_ns += sum(c->step[k] + s->row[k], count[k]);
	return s->first_ns >= c->h.first_ns && s->last_ns <= c->h.last_ns &&
	       s->first_ns <= s->last_ns;
}

/* Counts a thread's rows by kind, and sees whether two kinds alternate. */
static bool rows_count(const uint8_t *seq, uint32_t nr, uint32_t *count)
{
	bool pure = nr > 1 && seq[0] != seq[1] && !memcmp(seq, seq + 2, nr - 2);

	if (pure) {
		count[seq[0]] = (nr + 1) / 2;
		count[seq[1]] = nr / 2;
		return true;
	}
	for (uint32_t i = 0; i < nr; i++)
		count[seq[i]]++;
	return false;
}

/* A thread's part of the chunk; `row` is where its rows begin, and goes on behind them. */
static int slice_take(struct lane_worker *w, const struct lane_chunk *c,
		      const struct column_thread *t, bool calm, uint32_t *row)
{
	uint32_t count[COLUMNS_KINDS_MAX] = {0};
	unsigned int role = 0;
	struct lane_slice *s = lane_alloc(w, sizeof(*s) + 2 * c->nr_kinds * sizeof(s->row[0]));

	if (!s)
		return -ENOMEM;
	*s = (struct lane_slice){.chunk = c,
				 .start = t->start,
				 .nr = t->nr,
				 .pid = t->pid,
				 .tid = t->tid,
				 .vcpu = t->vcpu,
				 .base_ns = t->first_ns};
	s->pure = rows_count(c->sequence + t->start, t->nr, count);
	memcpy(s->row, row, c->nr_kinds * sizeof(*row));
	for (unsigned int k = 0; k < c->nr_kinds; k++) {
		row[k] += count[k];
		role |= count[k] ? c->role[k] : 0;
	}
	s->row_end = memcpy(s->row + c->nr_kinds, row, c->nr_kinds * sizeof(*row));
	calm = calm && t->first_ns < UINT64_MAX / 2;
	if (!(calm ? slice_sum(c, s, count) : slice_walk(c, s)))
		return LANE_NO;
	if (!role)
		return 0;
	if (s->pure) {
		uint8_t both[2] = {c->role[c->sequence[s->start]],
				   c->role[c->sequence[s->start + 1]]};

		s->pure = (both[0] == ROLE_BEGIN && both[1] == ROLE_END) ||
			  (both[0] == ROLE_END && both[1] == ROLE_BEGIN);
	}
	struct lane_thread *th = lane_thread_get(w, t->pid, t->tid);

	if (!th)
		return LANE_NO;
	*th->tail = s;
	th->tail = &s->next;
	return 0;
}

int lane_chunk_load(struct lane_worker *w, const struct chunk_ref *ref)
{
	struct lane_chunk *c = lane_alloc(w, sizeof(*c));
	uint32_t row[COLUMNS_KINDS_MAX] = {0};
	const uint8_t *payload;
	size_t len;
	bool calm;
	int err = c ? chunk_load_columns(w->loader, ref, w->plan->src.types, &payload, &len)
		    : -ENOMEM;

	if (err)
		return err == -EBADMSG ? LANE_NO : err;
	*c = (struct lane_chunk){.h = ref->h};
	if (!columns_parse(w->columns, payload, len) || !kinds_take(w, c))
		return LANE_NO;
	uint8_t *sequence = lane_alloc(w, w->columns->nr_records);

	if (!sequence || !times_decode(w, c, &calm))
		return -ENOMEM;
	c->sequence = memcpy(sequence, w->columns->sequence, w->columns->nr_records);
	if (c->begin_kind != COLUMNS_KINDS_MAX && !begins_decode(w, c, c->begin_kind))
		return LANE_NO;
	for (uint32_t t = 0; t < w->columns->nr_threads && !err; t++)
		if (w->columns->thread[t].nr)
			err = slice_take(w, c, &w->columns->thread[t], calm, row);
	return err;
}
