// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Second stage of the fast path: a piece of the input becomes slices, one thread's records in one chunk each, which are
 * appended to their threads. Of the columns only the times and what the analyzer groups by are decoded. What the slow
 * path would have to report (records that fit no type or lie outside their chunk's time range) is detected here, too,
 * and ends the fast path.
 *
 * Where no step of the times is backwards or huge (calm), sums of columns give a slice's first and last time; else its
 * records are walked one by one. A slice in which begins and ends just alternate is pure: it is paired as columns.
 */
#include <errno.h>

#include "pairing/fast_internal.h"

#define CALM_STEP (1ull << 48) /* ns; 65,536 steps below it cannot overflow */

/* ---- threads ---- */

/* The state of a thread; NULL: too many threads. */
static struct fast_thread *fast_thread_get(struct fast_worker *w, uint32_t pid, uint32_t tid)
{
	bool is_new;
	struct fast_thread_place *place =
		hash_add_u64(&w->places, fast_thread_id(pid, tid), &is_new);

	if (!place)
		return NULL;
	if (!is_new)
		return &w->threads[place->index];
	place->index = w->nr_threads++;
	struct fast_thread *th = &w->threads[place->index];

	if (w->nr_threads > w->max_threads)
		w->max_threads = w->nr_threads;
	*th = (struct fast_thread){
		.b = {.pid = pid, .tid = tid}, .carry = th->carry, .max_carry = th->max_carry};
	th->tail = &th->slices;
	return th;
}

/* ---- the order of slices ---- */

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

void fast_slices_sort(struct fast_thread *th)
{
	uint32_t nr = 0;

	for (const struct fast_slice *s = th->slices; s; s = s->next)
		nr++;
	th->slices = slices_sort(th->slices, nr);
}

/* ---- memory of a round ---- */

enum { BLOCK_BYTES = 1 << 20 }; /* more than any column takes */

struct fast_block {
	struct fast_block *next;
	size_t used;
	uint8_t data[BLOCK_BYTES] __attribute__((aligned(8)));
};

/* Memory until the end of the round, at most 1 MiB. NULL: out of memory, or too much. */
static void *fast_alloc(struct fast_worker *w, size_t len)
{
	struct fast_block *b = w->blocks;

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

void fast_round_end(struct fast_worker *w)
{
	while (w->blocks) {
		struct fast_block *b = w->blocks;

		w->blocks = b->next;
		b->next = w->spare;
		w->spare = b;
	}
}

void fast_blocks_free(struct fast_worker *w)
{
	fast_round_end(w);
	while (w->spare) {
		struct fast_block *b = w->spare;

		w->spare = b->next;
		free(b);
	}
}

/* ---- columns ---- */

static void values_mask(uint64_t *v, uint32_t rows, unsigned int size, bool is_signed)
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

static uint64_t *column_values(struct fast_worker *w, unsigned int column)
{
	const struct column *col = &w->columns->column[column];
	uint64_t *v = fast_alloc(w, w->columns->kind[col->kind].rows * sizeof(*v));

	if (v)
		column_decode(w->columns, column, v, w->scratch);
	return v;
}

uint64_t *fast_steps(struct fast_worker *w, unsigned int kind)
{
	return column_values(w, w->columns->kind[kind].first);
}

/* NULL: the field spans several columns, or out of memory. */
static uint64_t *column_field(struct fast_worker *w, unsigned int kind, const struct field *f)
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
			values_mask(v, k->rows, f->size, f->kind == FIELD_SINT);
		return v;
	}
	v = fast_alloc(w, k->rows * sizeof(*v));
	if (v)
		memset(v, 0, k->rows * sizeof(*v)); /* no column: zeros */
	return v;
}

/* NULL: it was not asked for. */
static uint64_t *rows_field(const struct fast_worker *w, unsigned int kind, const struct field *f)
{
	const struct rows_request *r = &w->plan->request;

	for (unsigned int i = 0; i < r->nr_values; i++)
		if (r->value[i].kind == kind && r->value[i].field == f)
			return w->rows->value[i];
	return NULL;
}

uint64_t *fast_field(struct fast_worker *w, unsigned int kind, const struct field *f)
{
	return w->rows ? rows_field(w, kind, f) : column_field(w, kind, f);
}

static uint32_t kind_rows(const struct fast_worker *w, unsigned int kind)
{
	return w->rows ? w->rows->nr_of[kind] : w->columns->kind[kind].rows;
}

/* Values to be changed: a reader's are shared by all that ask for the field. NULL: out of memory. */
static uint64_t *own_values(struct fast_worker *w, unsigned int kind, uint64_t *v)
{
	size_t size = kind_rows(w, kind) * sizeof(*v);
	uint64_t *own = w->rows ? fast_alloc(w, size) : v;

	return own && own != v ? memcpy(own, v, size) : own;
}

static uint64_t *cpu_values(struct fast_worker *w, unsigned int kind)
{
	uint32_t rows = kind_rows(w, kind);
	uint64_t *v = w->rows ? fast_alloc(w, rows * sizeof(*v))
			      : column_values(w, w->columns->kind[kind].first + 1u);

	for (uint32_t i = 0; v && w->rows && i < rows; i++)
		v[i] = w->rows->cpu;
	if (v)
		values_mask(v, rows, sizeof(uint16_t), false);
	return v;
}

static void high_add(uint64_t *restrict v, const uint64_t *restrict high, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++)
		v[i] |= high[i] << 32;
}

static uint64_t *label_values(struct fast_worker *w, unsigned int kind, const struct fast_value *l)
{
	uint32_t rows = kind_rows(w, kind);
	uint64_t *v, *high;

	if (l->source == FAST_CPU)
		return cpu_values(w, kind);
	v = fast_field(w, kind, l->field);
	high = l->high && v ? fast_field(w, kind, l->high) : NULL;
	if (!v || (l->high && !high))
		return NULL;
	if (l->high || l->source != FAST_FIELD)
		v = own_values(w, kind, v);
	if (!v)
		return NULL;
	if (l->high)
		high_add(v, high, rows);
	for (uint32_t i = 0; l->source == FAST_DIR && i < rows; i++)
		v[i] = v[i] == 2;
	for (uint32_t i = 0; l->source == FAST_PAGE && i < rows; i++)
		v[i] &= ~0xfffull;
	return v;
}

static bool optional_field(struct fast_worker *w, unsigned int kind, const struct field *f,
		     const uint64_t **ret)
{
	return !f || (*ret = fast_field(w, kind, f));
}

/* Of one access so far. */
static bool bytes_make(struct fast_worker *w, struct fast_chunk *c, unsigned int kind)
{
	uint64_t *bytes = own_values(w, kind, (uint64_t *)c->bytes);

	for (uint32_t i = 0; bytes && i < kind_rows(w, kind); i++)
		bytes[i] *= c->weight[i];
	c->bytes = bytes;
	return bytes;
}

/* For these two: decodes what the begins need; appends a thread's events, whose first row by kind is *row, moved. */
static bool fast_begins_decode(struct fast_worker *w, struct fast_chunk *c, unsigned int kind)
{
	const struct fast_plan *p = w->plan;
	const uint64_t *size = NULL;

	for (unsigned int i = 0; i < p->nr_labels; i++)
		if (p->label[i].source >= FAST_CPU &&
		    !(c->label[i] = label_values(w, kind, &p->label[i])))
			return false;
	if (!optional_field(w, kind, p->weight, &c->weight) ||
	    !optional_field(w, kind, p->size, &size) ||
	    !optional_field(w, kind, p->duration, &c->duration) ||
	    !optional_field(w, kind, p->skip_zero, &c->skip))
		return false;
	c->bytes = size;
	return !size || !c->weight || bytes_make(w, c, kind);
}

/* ---- a whole chunk ---- */

/* Roles of the chunk's kinds. False: one that the fast path does not handle. */
static bool kinds_bind(struct fast_worker *w, struct fast_chunk *c, size_t bytes)
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
		if (!type || kind->size < type->size || c->role[k] & ROLE_FOREIGN)
			return false;
		if (!(c->role[k] & ROLE_BEGIN))
			continue;
		if (c->begin_kind != COLUMNS_KINDS_MAX) /* of other sizes: dynamic text */
			return false;
		c->begin_kind = k;
	}
	return raw == bytes;
}

static uint64_t all_bits(const uint64_t *v, uint32_t nr)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < nr; i++)
		all |= v[i];
	return all;
}

/* Decodes the times. ret_calm: no step is backwards or so large that a sum could overflow. */
static bool times_decode(struct fast_worker *w, struct fast_chunk *c, bool *ret_calm)
{
	uint64_t all = 0;

	for (unsigned int k = 0; k < c->nr_kinds; k++) {
		const uint64_t *step = fast_steps(w, k);

		if (!step)
			return false;
		all |= all_bits(step, w->columns->kind[k].rows);
		c->step[k] = step;
	}
	*ret_calm = all < CALM_STEP;
	return true;
}

/* Checks the times of a thread whose steps are not calm. False: one lies outside its chunk's range. */
static bool slice_walk(const struct fast_chunk *c, struct fast_slice *s)
{
	uint32_t row[COLUMNS_KINDS_MAX];
	uint64_t time = s->base_ns, last = 0;

	memcpy(row, s->row, c->nr_kinds * sizeof(*row));
	s->rising = true;
	for (uint32_t i = 0; i < s->nr; i++) {
		unsigned int k = c->sequence[s->start + i];

		time += c->step[k][row[k]++];
		if (time < c->first_ns || time > c->last_ns)
			return false;
		if (!i)
			s->first_ns = time;
		s->rising = s->rising && time >= last;
		last = time;
	}
	s->last_ns = last;
	return true;
}

static uint64_t steps_sum(const uint64_t *v, uint32_t nr)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < nr; i++)
		all += v[i];
	return all;
}

/* The same where all steps are calm: sums suffice. count: its rows by kind. */
static bool slice_sum(const struct fast_chunk *c, struct fast_slice *s, const uint32_t *count)
{
	unsigned int k = c->sequence[s->start];

	s->rising = true;
	s->first_ns = s->base_ns + c->step[k][s->row[k]];
	s->last_ns = s->base_ns;
	for (k = 0; k < c->nr_kinds; k++)
		s->last_ns += steps_sum(c->step[k] + s->row[k], count[k]);
	return s->first_ns >= c->first_ns && s->last_ns <= c->last_ns &&
	       s->first_ns <= s->last_ns;
}

/* Counts a thread's rows by kind. True: two kinds alternate. */
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

static int fast_slice_add(struct fast_worker *w, const struct fast_chunk *c,
			  const struct column_thread *t, bool calm, uint32_t *row)
{
	uint32_t count[COLUMNS_KINDS_MAX] = {0};
	unsigned int role = 0;
	struct fast_slice *s = fast_alloc(w, sizeof(*s) + 2 * c->nr_kinds * sizeof(s->row[0]));

	if (!s)
		return -ENOMEM;
	*s = (struct fast_slice){.chunk = c,
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
		return FAST_UNSUITED;
	if (!role)
		return 0;
	if (s->pure) {
		uint8_t both[2] = {c->role[c->sequence[s->start]],
				   c->role[c->sequence[s->start + 1]]};

		s->pure = (both[0] == ROLE_BEGIN && both[1] == ROLE_END) ||
			  (both[0] == ROLE_END && both[1] == ROLE_BEGIN);
	}
	struct fast_thread *th = fast_thread_get(w, t->pid, t->tid);

	if (!th)
		return FAST_UNSUITED;
	*th->tail = s;
	th->tail = &s->next;
	return 0;
}

static int columns_load(struct fast_worker *w, size_t i)
{
	const struct chunk_ref *ref = &w->plan->src.refs[i];
	struct fast_chunk *c = fast_alloc(w, sizeof(*c));
	uint32_t row[COLUMNS_KINDS_MAX] = {0};
	const uint8_t *payload;
	size_t len;
	bool calm;
	int err = c ? chunk_load_columns(w->loader, ref, w->plan->src.types, &payload, &len)
		    : -ENOMEM;

	if (err)
		return err == -EBADMSG ? FAST_UNSUITED : err;
	*c = (struct fast_chunk){.first_ns = ref->h.first_ns, .last_ns = ref->h.last_ns,
				 .cpu = FAST_CPU_UNKNOWN};
	if (!columns_parse(w->columns, payload, len) || !kinds_bind(w, c, ref->h.raw))
		return FAST_UNSUITED;
	uint8_t *sequence = fast_alloc(w, w->columns->nr_records);

	if (!sequence || !times_decode(w, c, &calm))
		return -ENOMEM;
	c->sequence = memcpy(sequence, w->columns->sequence, w->columns->nr_records);
	if (c->begin_kind != COLUMNS_KINDS_MAX && !fast_begins_decode(w, c, c->begin_kind))
		return FAST_UNSUITED;
	for (uint32_t t = 0; t < w->columns->nr_threads && !err; t++)
		if (w->columns->thread[t].nr)
			err = fast_slice_add(w, c, &w->columns->thread[t], calm, row);
	return err;
}

/* ---- a piece of a reader with rows ---- */

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

static int rows_load(struct fast_worker *w, size_t i)
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

int fast_piece_load(struct fast_worker *w, size_t i)
{
	return w->plan->rows ? rows_load(w, i) : columns_load(w, i);
}
