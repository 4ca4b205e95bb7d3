// SPDX-License-Identifier: GPL-2.0-or-later
/* Shared by the two parts of columns_pack(): the order of the records and the forms of the columns. */

#include "base/cleanup.h"
#include "base/order.h"
#include "record.h"
#include "tracefile/columns.h"
#include "tracefile/delta.h"
#include "tracefile/varint.h"

enum {
	SLOTS = 128,	   /* records that the next ones are compared with */
	SLOT_MASK = SLOTS - 1,
	FRESH = 0x80,	   /* flag: the slot is compared with zeros, and its length follows */
	WORD = 8,
	WORDS_MAX = 65528 / WORD,
};

struct slot {
	size_t at;	    /* offset of this slot's record */
	unsigned int words; /* its length; 0: there is none yet */
};

static uint64_t word_get(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, WORD);
	return v;
}

static void word_put(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, WORD);
}

/* ---- packing ---- */

/* Any choice is valid for the reader; this one gives a thread's types slots of their own. */
static unsigned int slot_of(const struct record_hdr *h)
{
	return (h->tid * 8u + h->type * 3u) & SLOT_MASK;
}

static uint8_t *words_pack(const uint8_t *rec, const uint8_t *last, unsigned int words,
			   uint64_t time, uint8_t *out)
{
	uint8_t *mask = out;

	out += (words + 7) / 8;
	memset(mask, 0, (size_t)(out - mask));
	for (unsigned int i = 0; i < words; i++) {
		uint64_t from = i ? last ? word_get(last + i * WORD) : 0 : time;
		uint64_t diff = word_get(rec + i * WORD) - from;

		if (!diff)
			continue;
		mask[i / 8] |= (uint8_t)(1u << i % 8);
		out = varint_put(out, zigzag(diff));
	}
	return out;
}

size_t delta_pack(const uint8_t *records, size_t len, uint8_t *out)
{
	struct slot slots[SLOTS] = {0};
	const uint8_t *end = out + len;
	uint8_t *p = out;
	uint64_t time = 0;
	struct record_hdr h;

	for (size_t at = 0; at < len; at += h.size) {
		if (len - at < sizeof(h))
			return 0;
		memcpy(&h, records + at, sizeof(h));
		if (h.size < sizeof(h) || h.size % WORD || h.size > len - at)
			return 0;
		unsigned int words = h.size / WORD, nr = slot_of(&h);
		struct slot *s = &slots[nr];
		bool fresh = s->words != words;
		size_t need = 1 + VARINT_MAX + (words + 7) / 8 + (size_t)words * VARINT_MAX;

		if (need > (size_t)(end - p))
			return 0;
		*p++ = (uint8_t)(nr | (fresh ? FRESH : 0));
		if (fresh)
			p = varint_put(p, words);
		p = words_pack(records + at, fresh ? NULL : records + s->at, words, time, p);
		*s = (struct slot){at, words};
		time = h.time;
	}
	return (size_t)(p - out);
}

/* ---- unpacking: the input is untrusted ---- */

/* rec already contains the record to compare with. */
static void words_unpack(struct varints *in, uint8_t *rec, unsigned int words)
{
	const uint8_t *mask = in->p;
	size_t mask_len = (words + 7) / 8;

	if (mask_len > (size_t)(in->end - in->p)) {
		in->broken = true;
		return;
	}
	in->p += mask_len;
	for (unsigned int base = 0; base < words; base += 8)
		for (unsigned int bits = mask[base / 8]; bits; bits &= bits - 1) {
			unsigned int i = base + (unsigned int)__builtin_ctz(bits);

			if (i >= words) {
				in->broken = true;
				return;
			}
			uint8_t *w = rec + (size_t)i * WORD;

			word_put(w, word_get(w) + unzigzag(varint_get(in)));
		}
}

bool delta_unpack(const uint8_t *from, size_t len, uint8_t *out, size_t raw)
{
	struct slot slots[SLOTS] = {0};
	struct varints in = {from, from ? from + len : NULL, false};
	uint64_t time = 0, words;

	for (size_t at = 0; at < raw; at += words * WORD) {
		unsigned int head = byte_get(&in);
		struct slot *s = &slots[head & SLOT_MASK];

		words = head & FRESH ? varint_get(&in) : s->words;
		if (in.broken || !words || words > WORDS_MAX || words * WORD > raw - at)
			return false;
		if (head & FRESH)
			memset(out + at, 0, words * WORD);
		else
			memcpy(out + at, out + s->at, words * WORD);
		word_put(out + at, time);
		words_unpack(&in, out + at, (unsigned int)words);
		if (in.broken)
			return false;
		*s = (struct slot){at, (unsigned int)words};
		time = word_get(out + at);
	}
	return in.p == in.end;
}

/*
 * The writer's side: records of a chunk are sorted by thread, then each column gets the form that needs the fewest
 * bytes. All choices are the writer's alone, the reader only obeys.
 */

enum {
	CUT_MIN = 256,	    /* bytes that are worth a compressed block of their own */
	RECORD_BYTES = 4096 /* longer records are packed otherwise */
};

struct known_thread {
	uint64_t key[2]; /* pid and tid, vCPU */
	uint32_t number;
};

struct columns_packer *columns_packer_new(void)
{
	struct columns_packer *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->threads = HASH_TABLE(struct known_thread, 2, COLUMNS_RECORDS_MAX);
	p->words = HASH_TABLE(struct pack_word, 1, COLUMNS_DICTIONARY);
	return p;
}

void columns_packer_free(struct columns_packer *p)
{
	if (p) {
		hash_deinit(&p->threads);
		hash_deinit(&p->words);
	}
	free(p);
}

/* ---- whose records, of which kind, in which order ---- */

/* COLUMNS_RECORDS_MAX: memory is short. */
static uint32_t thread_find(struct columns_packer *p, const struct record_hdr *h)
{
	const uint64_t key[2] = {(uint64_t)h->pid << 32 | h->tid, h->vcpu};
	struct known_thread *known = hash_find_words(&p->threads, key);

	if (known)
		return known->number;
	known = hash_add_words(&p->threads, key, NULL);
	if (!known)
		return COLUMNS_RECORDS_MAX;
	known->number = p->nr_threads++;
	p->thread[known->number] =
		(struct pack_thread){.pid = h->pid, .tid = h->tid, .vcpu = h->vcpu};
	return known->number;
}

/* COLUMNS_KINDS_MAX: there are too many. */
static unsigned int kind_find(struct columns_packer *p, const struct record_hdr *h)
{
	unsigned int i = 0;

	while (i < p->nr_kinds && (p->kind[i].type != h->type || p->kind[i].size != h->size))
		i++;
	if (i == p->nr_kinds && i < COLUMNS_KINDS_MAX)
		p->kind[p->nr_kinds++] = (struct pack_kind){.type = h->type, .size = h->size};
	return i;
}

static bool records_take(struct columns_packer *p, const uint8_t *records, size_t len)
{
	uint32_t thread = 0;
	unsigned int kind = 0;
	struct record_hdr h;

	p->records = records;
	p->nr = p->nr_kinds = p->nr_threads = 0;
	hash_clear(&p->threads);
	for (size_t at = 0; at < len; at += h.size) {
		if (len - at < sizeof(h))
			return false;
		memcpy(&h, records + at, sizeof(h));
		if (h.size < sizeof(h) || h.size % 8 || h.size > len - at || h.size > RECORD_BYTES)
			return false;
		const struct pack_thread *t = &p->thread[thread];

		if (!p->nr || t->tid != h.tid || t->pid != h.pid || t->vcpu != h.vcpu)
			thread = thread_find(p, &h);
		if (!p->nr || p->kind[kind].type != h.type || p->kind[kind].size != h.size)
			kind = kind_find(p, &h);
		if (kind == COLUMNS_KINDS_MAX || thread == COLUMNS_RECORDS_MAX)
			return false;
		p->at[p->nr] = (uint32_t)at;
		p->thread_of[p->nr] = thread;
		p->kind_of[p->nr++] = (uint8_t)kind;
		p->thread[thread].nr++;
		p->kind[kind].rows++;
	}
	return p->nr;
}

ORDER_BY(by_type, struct pack_kind, type, size)

/* In the order of their ids: kvm_exit is before kvm_entry, whose fields often repeat it. */
static void kinds_sort(struct columns_packer *p)
{
	uint8_t now[COLUMNS_KINDS_MAX];
	uint32_t start = 0;

	for (unsigned int i = 0; i < p->nr_kinds; i++)
		p->kind[i].was = (uint8_t)i;
	qsort(p->kind, p->nr_kinds, sizeof(p->kind[0]), by_type);
	for (unsigned int i = 0; i < p->nr_kinds; i++) {
		now[p->kind[i].was] = (uint8_t)i;
		p->kind[i].start = p->kind[i].fill = start;
		start += p->kind[i].rows;
	}
	for (uint32_t i = 0; i < p->nr; i++)
		p->kind_of[i] = now[p->kind_of[i]];
}

static uint64_t time_of(const struct columns_packer *p, uint32_t at)
{
	uint64_t time;

	memcpy(&time, p->records + at, sizeof(time));
	return time;
}

/* The first record's step is from wherever one likes: as long as the next of its kind, it costs nothing. */
static void first_step(struct columns_packer *p, struct pack_thread *th)
{
	uint8_t kind = p->sequence[th->start];
	uint32_t i = th->start + 1, row = p->kind[kind].fill, more = 0;

	for (; i < th->start + th->nr; i++)
		more += p->sequence[i] == kind;
	if (!more)
		return;
	row -= more + 1;
	p->step_ns[row] = p->step_ns[row + 1];
	th->first_ns -= p->step_ns[row];
}

/* Places each record among its thread's, then each thread's records among their kinds'. */
static void records_sort(struct columns_packer *p)
{
	uint32_t start = 0;

	for (uint32_t t = 0; t < p->nr_threads; t++) {
		p->thread[t].start = p->thread[t].fill = start;
		start += p->thread[t].nr;
	}
	for (uint32_t i = 0; i < p->nr;) { /* a CPU's records are adjacent */
		uint32_t t = p->thread_of[i], fill = p->thread[t].fill;

		do
			p->order[fill++] = i++;
		while (i < p->nr && p->thread_of[i] == t);
		p->thread[t].fill = fill;
	}
	for (uint32_t t = 0; t < p->nr_threads; t++) {
		struct pack_thread *th = &p->thread[t];
		uint64_t last = th->first_ns = time_of(p, p->at[p->order[th->start]]);

		for (uint32_t i = th->start; i < th->start + th->nr; i++) {
			uint32_t at = p->at[p->order[i]];
			struct pack_kind *k = &p->kind[p->kind_of[p->order[i]]];
			uint64_t time = time_of(p, at);

			p->sequence[i] = p->kind_of[p->order[i]];
			p->step_ns[k->fill] = time - last;
			p->row[k->fill++] = at;
			last = time;
		}
		first_step(p, th);
	}
}

/* ---- the directory ---- */

static void packer_put(struct columns_packer *p, uint64_t v)
{
	if (p->directory_end - p->to < VARINT_MAX)
		p->full = true;
	else
		p->to = varint_put(p->to, v);
}

static void put_threads(struct columns_packer *p)
{
	uint64_t last = 0;

	packer_put(p, p->nr_threads);
	for (uint32_t t = 0; t < p->nr_threads; t++) {
		const struct pack_thread *th = &p->thread[t];

		packer_put(p, th->pid);
		packer_put(p, th->tid);
		packer_put(p, th->vcpu);
		packer_put(p, zigzag(th->first_ns - last));
		last = th->first_ns;
	}
}

static void put_runs(struct columns_packer *p)
{
	uint32_t nr_runs = 0;

	for (uint32_t i = 0; i < p->nr; i++)
		nr_runs += !i || p->thread_of[i] != p->thread_of[i - 1];
	packer_put(p, nr_runs);
	for (uint32_t i = 0, n; i < p->nr; i += n) {
		for (n = 1; i + n < p->nr && p->thread_of[i + n] == p->thread_of[i];)
			n++;
		packer_put(p, p->thread_of[i]);
		packer_put(p, n);
	}
}

/* A kind is guessed to follow the one that followed last time; only wrong guesses are written. */
static void put_sequence(struct columns_packer *p)
{
	uint8_t next[256] = {0}, last = 0;
	uint32_t hits = 0;

	for (uint32_t i = 0; i < p->nr; i++) {
		uint8_t kind = p->sequence[i];

		if (next[last] == kind) {
			hits++;
		} else {
			packer_put(p, hits);
			packer_put(p, kind);
			hits = 0;
			next[last] = kind;
		}
		last = kind;
	}
	if (hits)
		packer_put(p, hits);
}

static void put_bytes(struct columns_packer *p, uint32_t rows, unsigned int width)
{
	size_t room = (size_t)(p->bytes_end - p->bytes_to);

	if ((size_t)rows * width > room) {
		p->full = true;
		return;
	}
	for (unsigned int b = 0; b < width; b++) {
		for (uint32_t i = 0; i < rows; i++)
			p->bytes_to[i] = (uint8_t)(p->number[i] >> 8 * b);
		p->bytes_to += rows;
		p->cut[p->nr_cuts++] = (uint32_t)(p->bytes_to - p->bytes);
	}
}

/* The head and the numbers that do not fit the width go to the directory; the others to the bytes. */
static void put_column(struct columns_packer *p, const struct pack_column *c, bool fixed,
		       uint32_t rows)
{
	unsigned int log = (unsigned int)__builtin_ctz(c->size);
	uint64_t limit = c->form.width == 8 ? UINT64_MAX : (1ull << 8 * c->form.width) - 1;

	packer_put(p, c->form.how | log << 2 | (uint64_t)c->form.width << 4);
	if (!fixed)
		packer_put(p, c->offset);
	packer_put(p, c->form.base);
	if (c->form.how == COLUMN_LIKE)
		packer_put(p, c->form.like);
	if (c->form.how == COLUMN_DICTIONARY) {
		packer_put(p, p->nr_words);
		for (uint32_t i = 0; i < p->nr_words; i++)
			packer_put(p, p->word[i] - (i ? p->word[i - 1] : 0));
	}
	packer_put(p, c->form.exceptions);
	for (uint32_t i = 0, last = 0; c->form.exceptions && i < rows; i++)
		if (p->number[i] > limit) {
			packer_put(p, i - last);
			packer_put(p, p->number[i]);
			p->number[i] = 0;
			last = i;
		}
	put_bytes(p, rows, c->form.width);
}

/* ---- columns ---- */

static void fields_take(struct columns_packer *p, const struct event_type *t, unsigned int size)
{
	memset(p->covered, 0, size);
	for (unsigned int i = 0; t && i < t->nr_fields; i++) {
		const struct field *f = &t->fields[i];

		if (f->kind > FIELD_SINT || f->offset + f->size > size ||
		    memchr(p->covered + f->offset, 1, f->size))
			continue;
		memset(p->covered + f->offset, 1, f->size);
		p->piece[p->nr_pieces++] = (struct pack_column){
			.offset = f->offset, .size = (uint8_t)f->size, .name = f->name};
	}
}

/* Texts, padding and bytes without a schema: in pieces as large as their alignment. */
static bool pieces_take(struct columns_packer *p, const struct event_type *t, unsigned int size)
{
	p->nr_pieces = 0;
	fields_take(p, t, size);
	for (unsigned int at = sizeof(struct record_hdr), n; at < size; at += n) {
		n = 1;
		if (p->covered[at])
			continue;
		while (n < 8 && !(at % (2 * n)) && at + 2 * n <= size &&
		       !memchr(p->covered + at, 1, 2 * n))
			n *= 2;
		if (p->nr_pieces == PACK_PIECES_MAX)
			return false;
		p->piece[p->nr_pieces++] =
			(struct pack_column){.offset = (uint16_t)at, .size = (uint8_t)n};
	}
	return true;
}

static bool kind_put(struct columns_packer *p, unsigned int kind)
{
	const struct pack_kind *k = &p->kind[kind];
	struct pack_column time = {.size = 8, .kind = (uint8_t)kind},
			   cpu = {.offset = offsetof(struct record_hdr, cpu),
				  .size = 2,
				  .kind = (uint8_t)kind};

	memcpy(p->value, p->step_ns + k->start, k->rows * sizeof(*p->value));
	pack_plain(p, &time, k->rows);
	put_column(p, &time, true, k->rows);
	p->column[p->nr_columns++] = time;
	pack_choose(p, &cpu, k);
	put_column(p, &cpu, true, k->rows);
	p->column[p->nr_columns++] = cpu;
	for (unsigned int i = 0; i < p->nr_pieces; i++) {
		struct pack_column *c = &p->piece[i];

		if (p->nr_columns == COLUMNS_MAX)
			return false;
		c->kind = (uint8_t)kind;
		pack_choose(p, c, k);
		put_column(p, c, false, k->rows);
		p->column[p->nr_columns++] = *c;
	}
	return !p->full;
}

static const struct event_type *type_of(const struct event_type *const *types, unsigned int id)
{
	return types ? types[id] : NULL;
}

static bool columns_put(struct columns_packer *p, const struct event_type *const *types)
{
	packer_put(p, p->nr_kinds);
	for (unsigned int i = 0; i < p->nr_kinds; i++) {
		if (!pieces_take(p, type_of(types, p->kind[i].type), p->kind[i].size))
			return false;
		packer_put(p, p->kind[i].type);
		packer_put(p, p->kind[i].size / 8);
		packer_put(p, p->nr_pieces);
	}
	put_threads(p);
	put_runs(p);
	put_sequence(p);
	p->nr_columns = p->nr_like = 0;
	for (unsigned int i = 0; i < p->nr_kinds && !p->full; i++) {
		pieces_take(p, type_of(types, p->kind[i].type), p->kind[i].size);
		if (!kind_put(p, i))
			return false;
	}
	return !p->full;
}

/* Cuts as offsets in the whole result, at least CUT_MIN apart. */
static void cuts_place(struct columns_packer *p, uint32_t directory, uint32_t total)
{
	uint32_t last = directory;
	unsigned int nr = 0;

	p->final[nr++] = directory;
	for (unsigned int i = 0; i < p->nr_cuts; i++) {
		uint32_t at = directory + p->cut[i];

		if (at - last < CUT_MIN || total - at < CUT_MIN)
			continue;
		p->final[nr++] = last = at;
	}
	p->nr_cuts = nr;
}

size_t columns_pack(struct columns_packer *p, const uint8_t *records, size_t len,
		    const struct event_type *const *types, uint8_t *out, size_t max,
		    const uint32_t **ret_cuts, unsigned int *ret_nr_cuts)
{
	if (len > RECORDS_RAW_MAX || !records_take(p, records, len))
		return 0;
	kinds_sort(p);
	records_sort(p);
	p->full = false;
	p->nr_cuts = 0;
	p->to = p->directory;
	p->directory_end = p->directory + max;
	p->bytes_to = p->bytes;
	p->bytes_end = p->bytes + max;
	if (!columns_put(p, types))
		return 0;
	size_t head = (size_t)(p->to - p->directory), body = (size_t)(p->bytes_to - p->bytes);

	if (head + body > max)
		return 0;
	memcpy(out, p->directory, head);
	memcpy(out + head, p->bytes, body);
	cuts_place(p, (uint32_t)head, (uint32_t)(head + body));
	*ret_cuts = p->final;
	*ret_nr_cuts = p->nr_cuts;
	return head + body;
}
