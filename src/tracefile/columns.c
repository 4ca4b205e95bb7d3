// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader's side of columns: first the directory is parsed and every length checked, then columns are decoded
 * in plain loops that need no further checks.
 */

#include "base/cleanup.h"
#include "tracefile/columns.h"
#include "tracefile/varint.h"

struct columns *columns_new(void)
{
	struct columns *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->thread = calloc(COLUMNS_RECORDS_MAX, sizeof(*c->thread));
	c->sequence = malloc(COLUMNS_RECORDS_MAX);
	c->run_thread = malloc(COLUMNS_RECORDS_MAX * sizeof(*c->run_thread));
	c->run_nr = malloc(COLUMNS_RECORDS_MAX * sizeof(*c->run_nr));
	if (c->thread && c->sequence && c->run_thread && c->run_nr)
		return c;
	columns_free(c);
	return NULL;
}

void columns_free(struct columns *c)
{
	if (!c)
		return;
	free(c->thread);
	free(c->sequence);
	free(c->run_thread);
	free(c->run_nr);
	free(c->unpacking);
	free(c);
}

/* ---- the directory ---- */

static bool parse_kinds(struct columns *c, struct varints *in)
{
	unsigned int column = 0;

	c->nr_kinds = (unsigned int)varint_upto(in, COLUMNS_KINDS_MAX);
	for (unsigned int i = 0; i < c->nr_kinds && !in->broken; i++) {
		struct column_kind *k = &c->kind[i];

		*k = (struct column_kind){.type = (uint16_t)varint_upto(in, UINT16_MAX)};
		k->size = (uint16_t)(8 * varint_upto(in, EVENT_RECORD_MAX / 8));
		k->first = (uint16_t)column;
		k->nr = (uint16_t)(2 + varint_upto(in, COLUMNS_MAX));
		column += k->nr;
		if (column > COLUMNS_MAX || k->size < sizeof(struct record_hdr) ||
		    k->nr > k->size) /* no more columns than bytes: the work is bounded */
			return false;
	}
	c->nr_columns = column;
	return !in->broken;
}

static bool parse_threads(struct columns *c, struct varints *in)
{
	uint64_t time = 0;

	c->nr_threads = (uint32_t)varint_upto(in, COLUMNS_RECORDS_MAX);
	for (uint32_t i = 0; i < c->nr_threads && !in->broken; i++) {
		struct column_thread *t = &c->thread[i];

		t->pid = (uint32_t)varint_upto(in, UINT32_MAX);
		t->tid = (uint32_t)varint_upto(in, UINT32_MAX);
		t->vcpu = (uint16_t)varint_upto(in, UINT16_MAX);
		t->first_ns = time += unzigzag(varint_get(in));
		t->nr = 0;
	}
	return !in->broken;
}

static bool parse_runs(struct columns *c, struct varints *in)
{
	uint32_t start = 0;

	c->nr_records = 0;
	c->nr_runs = (uint32_t)varint_upto(in, COLUMNS_RECORDS_MAX);
	for (uint32_t i = 0; i < c->nr_runs && !in->broken; i++) {
		uint32_t thread = (uint32_t)varint_get(in);

		if (thread >= c->nr_threads)
			return false;
		c->run_thread[i] = thread;
		c->run_nr[i] = (uint32_t)varint_upto(in, COLUMNS_RECORDS_MAX - c->nr_records);
		c->nr_records += c->run_nr[i];
		c->thread[thread].nr += c->run_nr[i];
	}
	for (uint32_t i = 0; i < c->nr_threads; i++) {
		c->thread[i].start = start;
		start += c->thread[i].nr;
	}
	return !in->broken;
}

/* A run of hits: each kind follows as it did last time. Two that alternate are the usual case. */
static void sequence_fill(struct columns *c, uint8_t *out, uint32_t nr, const uint8_t *next,
			  uint8_t last)
{
	uint8_t a = next[last], b = next[a];
	uint32_t i = 0;

	if (next[b] == a) {
		for (; i + 2 <= nr; i += 2) {
			out[i] = a;
			out[i + 1] = b;
		}
		c->kind[a].rows += i / 2;
		c->kind[b].rows += i / 2;
	}
	for (uint8_t k = i ? b : last; i < nr; i++) {
		out[i] = k = next[k];
		c->kind[k].rows++;
	}
}

static bool parse_sequence(struct columns *c, struct varints *in)
{
	uint8_t next[256] = {0}, last = 0;
	uint32_t at = 0;

	while (at < c->nr_records) {
		uint32_t hits = (uint32_t)varint_upto(in, c->nr_records - at);

		if (in->broken || (!c->nr_kinds))
			return false;
		sequence_fill(c, c->sequence + at, hits, next, last);
		at += hits;
		last = hits ? c->sequence[at - 1] : last;
		if (at == c->nr_records)
			break;
		uint64_t kind = varint_get(in);

		if (kind >= c->nr_kinds)
			return false;
		next[last] = (uint8_t)kind;
		c->sequence[at++] = last = (uint8_t)kind;
		c->kind[kind].rows++;
	}
	return true;
}

static bool parse_dictionary(struct column *col, struct varints *in)
{
	col->nr_words = (uint32_t)varint_upto(in, COLUMNS_DICTIONARY);
	col->words = in->p;
	for (uint32_t i = 0; i < col->nr_words; i++)
		varint_get(in);
	return !in->broken && col->width <= 1;
}

/* Each kind has two columns of the header; the others contain their offset in the record. */
static bool parse_place(const struct column_kind *k, unsigned int i, struct column *col,
			struct varints *in)
{
	if (i < 2) {
		col->offset = i ? offsetof(struct record_hdr, cpu) : 0;
		return col->size == (i ? sizeof(uint16_t) : sizeof(uint64_t));
	}
	col->offset = (uint16_t)varint_upto(in, UINT16_MAX);
	return col->offset >= sizeof(struct record_hdr) && col->offset + col->size <= k->size;
}

static bool parse_column(struct columns *c, unsigned int kind, unsigned int i, struct varints *in)
{
	const struct column_kind *k = &c->kind[kind];
	unsigned int number = k->first + i, head = (unsigned int)varint_upto(in, UINT8_MAX);
	struct column *col = &c->column[number];
	uint64_t row = 0;

	*col = (struct column){.how = head & 3,
			       .size = (uint8_t)(1u << (head >> 2 & 3)),
			       .width = (uint8_t)(head >> 4),
			       .kind = (uint8_t)kind};
	if (col->width > 8 || !parse_place(k, i, col, in))
		return false;
	col->base = varint_get(in);
	if (col->how == COLUMN_LIKE) {
		col->like = (uint16_t)varint_upto(in, UINT16_MAX);
		if (!i || col->like >= k->first || c->column[col->like].how == COLUMN_LIKE ||
		    ++c->nr_like > COLUMNS_LIKE_MAX)
			return false;
		col->like_kind = c->column[col->like].kind;
	}
	if (col->how == COLUMN_DICTIONARY && !parse_dictionary(col, in))
		return false;
	col->nr_exceptions = (uint32_t)varint_upto(in, k->rows);
	col->exceptions = in->p;
	for (uint32_t e = 0; e < col->nr_exceptions && !in->broken; e++) {
		row += varint_upto(in, COLUMNS_RECORDS_MAX);
		if (row >= k->rows)
			return false;
		varint_get(in);
	}
	return !in->broken;
}

bool columns_parse(struct columns *c, const uint8_t *payload, size_t len)
{
	struct varints in = {payload, payload ? payload + len : NULL, false};

	c->nr_like = 0;
	if (!parse_kinds(c, &in) || !parse_threads(c, &in) || !parse_runs(c, &in) ||
	    !parse_sequence(c, &in))
		return false;
	for (unsigned int k = 0; k < c->nr_kinds; k++)
		for (unsigned int i = 0; i < c->kind[k].nr; i++)
			if (!parse_column(c, k, i, &in))
				return false;
	for (unsigned int i = 0; i < c->nr_columns; i++) {
		struct column *col = &c->column[i];
		size_t need = (size_t)c->kind[col->kind].rows * col->width;

		if (need > (size_t)(in.end - in.p))
			return false;
		col->bytes = in.p;
		in.p += need;
	}
	return in.p == in.end;
}

/* ---- columns ---- */

/* One loop for each width, so that the compiler sees it whole and makes vectors of it. */
#define NUMBERS(width, expression)                                                                 \
	case width:                                                                                \
		for (uint32_t i = 0; i < n; i++)                                                   \
			out[i] = base + (expression);                                              \
		break

static inline __attribute__((always_inline)) void
numbers_loop(const uint8_t *restrict b, uint32_t n, unsigned int width, uint64_t base,
	     uint64_t *restrict out)
{
	const uint8_t *c = b + n, *d = c + n, *e = d + n;

	switch (width) {
		NUMBERS(0, 0);
		NUMBERS(1, b[i]);
		NUMBERS(2, b[i] | (uint32_t)c[i] << 8);
		NUMBERS(3, b[i] | (uint32_t)c[i] << 8 | (uint32_t)d[i] << 16);
		NUMBERS(4,
			b[i] | (uint32_t)c[i] << 8 | (uint32_t)d[i] << 16 | (uint32_t)e[i] << 24);
	default:
		for (uint32_t i = 0; i < n; i++) {
			uint64_t v = 0;

			for (unsigned int w = width; w--;)
				v = v << 8 | b[(size_t)w * n + i];
			out[i] = base + v;
		}
	}
}

#ifdef __x86_64__
/* AVX2 widens bytes in one instruction: 2.5 times as fast. */
__attribute__((target("avx2"))) static void numbers_avx2(const uint8_t *b, uint32_t n,
							 unsigned int width, uint64_t base,
							 uint64_t *out)
{
	numbers_loop(b, n, width, base, out);
}
#endif

static void numbers_decode(const uint8_t *b, uint32_t n, unsigned int width, uint64_t base,
			   uint64_t *out)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2")) {
		numbers_avx2(b, n, width, base, out);
		return;
	}
#endif
	numbers_loop(b, n, width, base, out);
}

static void exceptions_decode(const struct column *col, uint64_t base, uint64_t *out)
{
	struct varints in = {col->exceptions, col->bytes, false}; /* proved by parse_column() */

	for (uint32_t e = 0, row = 0; e < col->nr_exceptions; e++) {
		row += (uint32_t)varint_get(&in);
		out[row] = base + varint_get(&in);
	}
}

static void words_decode(const struct column *col, uint32_t rows, uint64_t *out)
{
	struct varints in = {col->words, col->bytes, false};
	uint64_t word[COLUMNS_DICTIONARY] = {0}, w = 0;

	for (uint32_t i = 0; i < col->nr_words; i++)
		word[i] = w += varint_get(&in);
	for (uint32_t i = 0; i < rows; i++)
		out[i] = out[i] < COLUMNS_DICTIONARY ? word[out[i]] : 0;
}

static void like_decode(const struct columns *c, const struct column *col, uint64_t *out,
			uint64_t *theirs)
{
	uint32_t mine = 0, nr = 0;

	column_decode(c, col->like, theirs, NULL);
	for (uint32_t i = 0; i < c->nr_records; i++) {
		nr += c->sequence[i] == col->like_kind;
		if (c->sequence[i] == col->kind) {
			out[mine] = unzigzag(out[mine]) + col->base + (nr ? theirs[nr - 1] : 0);
			mine++;
		}
	}
}

void column_decode(const struct columns *c, unsigned int column, uint64_t *out, uint64_t *scratch)
{
	const struct column *col = &c->column[column];
	uint32_t rows = c->kind[col->kind].rows;
	uint64_t base = col->how == COLUMN_PLAIN ? col->base : 0, last = 0;

	numbers_decode(col->bytes, rows, col->width, base, out);
	exceptions_decode(col, base, out);
	if (col->how == COLUMN_PREVIOUS)
		for (uint32_t i = 0; i < rows; i++)
			out[i] = last += unzigzag(out[i]) + col->base;
	if (col->how == COLUMN_LIKE)
		like_decode(c, col, out, scratch);
	if (col->how == COLUMN_DICTIONARY)
		words_decode(col, rows, out);
}

/*
 * Converts columns back to records: the order gives each record's offset, then its header is filled in with time and
 * CPU, then each column.
 */

/* Arrays by record, thread by thread, but `row`, `step` and `cpu`: by kind. */
struct unpacking {
	uint32_t cursor[COLUMNS_RECORDS_MAX]; /* by thread */
	uint32_t at[COLUMNS_RECORDS_MAX], row[COLUMNS_RECORDS_MAX];
	uint64_t step[COLUMNS_RECORDS_MAX], cpu[COLUMNS_RECORDS_MAX];
	uint64_t value[COLUMNS_RECORDS_MAX], scratch[COLUMNS_RECORDS_MAX];
	uint32_t start[COLUMNS_KINDS_MAX]; /* of a kind's rows */
	uint32_t fill[COLUMNS_KINDS_MAX];
	bool filled[COLUMNS_KINDS_MAX]; /* by its columns */
};

/* Where each record begins. False: together they are not `raw` bytes long. */
static bool places_find(const struct columns *c, struct unpacking *u, size_t raw)
{
	uint32_t *cursor = u->cursor;
	size_t at = 0;

	for (uint32_t t = 0; t < c->nr_threads; t++)
		cursor[t] = c->thread[t].start;
	for (uint32_t r = 0; r < c->nr_runs; r++)
		for (uint32_t n = c->run_nr[r]; n; n--) {
			uint32_t i = cursor[c->run_thread[r]]++;

			u->at[i] = (uint32_t)at;
			at += c->kind[c->sequence[i]].size;
			if (at > raw)
				return false;
		}
	return at == raw;
}

/* Do the columns fill the whole record, one after the other? */
static bool is_filled(const struct columns *c, const struct column_kind *k)
{
	size_t end = sizeof(struct record_hdr);

	for (unsigned int i = 2; i < k->nr; i++) {
		const struct column *col = &c->column[k->first + i];

		if (col->offset != end)
			return false;
		end += col->size;
	}
	return end == k->size;
}

static void kinds_begin(const struct columns *c, struct unpacking *u)
{
	uint32_t start = 0;

	for (unsigned int i = 0; i < c->nr_kinds; i++) {
		const struct column_kind *k = &c->kind[i];

		u->start[i] = u->fill[i] = start;
		u->filled[i] = is_filled(c, k);
		if (k->rows) {
			column_decode(c, k->first, u->step + start, u->scratch);
			column_decode(c, k->first + 1u, u->cpu + start, u->scratch);
		}
		start += k->rows;
	}
}

/* Of one thread's records. Times are steps from the record before. */
static void headers_fill(const struct columns *c, struct unpacking *u,
			 const struct column_thread *th, uint8_t *out)
{
	struct record_hdr h = {
		.time = th->first_ns, .pid = th->pid, .tid = th->tid, .vcpu = th->vcpu};

	for (uint32_t i = th->start, end = i + th->nr; i < end; i++) {
		uint8_t kind = c->sequence[i];
		const struct column_kind *k = &c->kind[kind];
		uint32_t at = u->at[i], row = u->fill[kind]++;
		struct record_hdr *to = (struct record_hdr *)(void *)(out + at);

		__builtin_prefetch(out + u->at[i + 12 < end ? i + 12 : i], 1); /* not in the caches */
		if (!u->filled[kind])
			memset(to, 0, k->size);
		to->time = h.time += u->step[row];
		to->pid = h.pid;
		to->tid = h.tid;
		to->type = k->type;
		to->size = k->size;
		to->cpu = (uint16_t)u->cpu[row];
		to->vcpu = h.vcpu;
		u->row[row] = at;
	}
}

static void column_fill(const struct column *col, const uint32_t *row, uint32_t rows,
			const uint64_t *value, uint8_t *out)
{
	out += col->offset;
	switch (col->size) {
	case 8:
		for (uint32_t i = 0; i < rows; i++)
			memcpy(out + row[i], value + i, 8);
		break;
	case 4:
		for (uint32_t i = 0; i < rows; i++)
			memcpy(out + row[i], value + i, 4);
		break;
	case 2:
		for (uint32_t i = 0; i < rows; i++)
			memcpy(out + row[i], value + i, 2);
		break;
	default:
		for (uint32_t i = 0; i < rows; i++)
			out[row[i]] = (uint8_t)value[i];
	}
}

bool columns_unpack(struct columns *c, const uint8_t *payload, size_t len, const bool *wanted,
		    uint8_t *out, size_t raw)
{
	struct unpacking *u;

	if (!columns_parse(c, payload, len))
		return false;
	if (!c->unpacking)
		c->unpacking = malloc(sizeof(*c->unpacking));
	u = c->unpacking;
	if (!u || !places_find(c, u, raw))
		return false;
	kinds_begin(c, u);
	for (uint32_t t = 0; t < c->nr_threads; t++)
		headers_fill(c, u, &c->thread[t], out);
	for (unsigned int i = 0; i < c->nr_kinds; i++) {
		const struct column_kind *k = &c->kind[i];
		bool skip = !k->rows || (wanted && !wanted[k->type]);

		for (unsigned int n = 2; !skip && n < k->nr; n++) {
			column_decode(c, k->first + n, u->value, u->scratch);
			column_fill(&c->column[k->first + n], u->row + u->start[i], k->rows,
				    u->value, out);
		}
	}
	return true;
}
