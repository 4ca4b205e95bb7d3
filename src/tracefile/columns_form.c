// SPDX-License-Identifier: GPL-2.0-or-later
/* Chooses the smallest form of a column: each is tried on its values. */
#include <stdlib.h>

#include "base/order.h"
#include "tracefile/columns.h"
#include "tracefile/varint.h"

enum { WORD_COST = 4 /* bytes of a word in a dictionary, about */ };

static unsigned int bytes_of(uint64_t v)
{
	return v ? (71 - (unsigned int)__builtin_clzll(v)) / 8 : 0;
}

/*
 * Counts the numbers by their size in bytes; returns the maximum size. These are nearly always few: a look at each
 * limit in turn is a plain loop, where a count by length would wait for the one before.
 */
static unsigned int lengths_count(const uint64_t *number, uint32_t rows, uint32_t longer[9])
{
	uint32_t beyond = rows;
	uint64_t all = 0;
	unsigned int most;

	for (uint32_t i = 0; i < rows; i++)
		all |= number[i];
	most = bytes_of(all);
	for (unsigned int w = 0; w < most; w++) {
		uint64_t limit = (1ull << 8 * w) - 1;
		uint32_t more = 0;

		for (uint32_t i = 0; i < rows; i++)
			more += number[i] > limit;
		longer[w] = beyond - more;
		beyond = more;
	}
	longer[most] = beyond;
	return most;
}

/* The width at which the numbers need the least space; those that do not fit are written out. */
static void width_choose(const uint64_t *number, uint32_t rows, struct pack_form *f)
{
	uint32_t longer[9] = {0};
	size_t outside = 0;
	uint32_t exceptions = 0;

	f->cost = SIZE_MAX;
	for (unsigned int w = lengths_count(number, rows, longer);; w--) {
		size_t cost = (size_t)rows * w + outside;

		if (cost < f->cost) {
			f->cost = cost;
			f->width = w;
			f->exceptions = exceptions;
		}
		if (!w)
			return;
		outside += longer[w] * (size_t)(w + w / 7 + 2);
		exceptions += longer[w];
	}
}

/* Most columns of most recordings have a single value: it is detected first, and no data is written. */
static bool is_constant(const uint64_t *value, uint32_t rows)
{
	uint64_t differ = 0;

	for (uint32_t i = 1; i < rows; i++)
		differ |= value[i] ^ value[0];
	return !differ;
}

void pack_plain(struct columns_packer *p, struct pack_column *c, uint32_t rows)
{
	uint64_t min = p->value[0];

	c->form = (struct pack_form){.how = COLUMN_PLAIN, .base = min};
	if (is_constant(p->value, rows))
		return;
	for (uint32_t i = 1; i < rows; i++)
		min = p->value[i] < min ? p->value[i] : min;
	for (uint32_t i = 0; i < rows; i++)
		p->number[i] = p->value[i] - min;
	c->form = (struct pack_form){.how = COLUMN_PLAIN, .base = min};
	width_choose(p->number, rows, &c->form);
}

static void try_previous(struct columns_packer *p, struct pack_form *f, uint32_t rows)
{
	for (uint32_t i = 0; i < rows; i++)
		p->number[i] = zigzag(p->value[i] - (i ? p->value[i - 1] : 0));
	*f = (struct pack_form){.how = COLUMN_PREVIOUS};
	width_choose(p->number, rows, f);
}

/* With a constant size, each value is one load. */
static inline __attribute__((always_inline)) void gather(const uint8_t *from, const uint32_t *row,
							 uint32_t rows, size_t size, uint64_t *out)
{
	for (uint32_t i = 0; i < rows; i++) {
		uint64_t v = 0;

		memcpy(&v, from + row[i], size);
		out[i] = v;
	}
}

static void values_take(const struct columns_packer *p, const struct pack_column *c,
			const struct pack_kind *k, uint64_t *out)
{
	const uint8_t *from = p->records + c->offset;
	const uint32_t *row = p->row + k->start;

	if (c->size == 8)
		gather(from, row, k->rows, 8, out);
	else if (c->size == 4)
		gather(from, row, k->rows, 4, out);
	else if (c->size == 2)
		gather(from, row, k->rows, 2, out);
	else
		gather(from, row, k->rows, 1, out);
}

/* The column of that name in an earlier kind that has most rows; nr_columns: there is none. */
static unsigned int like_find(const struct columns_packer *p, const struct pack_column *c)
{
	unsigned int best = p->nr_columns;

	for (unsigned int i = 0; c->name && p->nr_like < COLUMNS_LIKE_MAX && i < p->nr_columns;
	     i++) {
		const struct pack_column *o = &p->column[i];

		if (o->name && o->size == c->size && o->kind < c->kind &&
		    o->form.how != COLUMN_LIKE && !strcmp(o->name, c->name) &&
		    (best == p->nr_columns ||
		     p->kind[o->kind].rows > p->kind[p->column[best].kind].rows))
			best = i;
	}
	return best;
}

static void try_like(struct columns_packer *p, const struct pack_column *c, struct pack_form *f,
		     uint32_t rows)
{
	unsigned int like = like_find(p, c);
	uint32_t mine = 0, theirs = 0;
	bool same = true;

	if (like == p->nr_columns)
		return;
	const struct pack_column *o = &p->column[like];

	values_take(p, o, &p->kind[o->kind], p->other);
	for (uint32_t i = 0; i < p->nr; i++) {
		if (p->sequence[i] == o->kind)
			theirs++;
		if (p->sequence[i] != c->kind)
			continue;
		p->number[mine] = p->value[mine] - (theirs ? p->other[theirs - 1] : 0);
		same = same && p->number[mine] == p->number[0];
		mine++;
	}
	*f = (struct pack_form){
		.how = COLUMN_LIKE, .like = (uint16_t)like, .base = same ? p->number[0] : 0};
	for (uint32_t i = 0; i < rows; i++)
		p->number[i] = zigzag(p->number[i] - f->base);
	width_choose(p->number, rows, f);
}

/* Gathers the distinct values; false: there are too many. */
static bool words_gather(struct columns_packer *p, uint32_t rows)
{
	hash_clear(&p->words);
	p->nr_words = 0;
	for (uint32_t i = 0; i < rows; i++) {
		if (hash_find_u64(&p->words, p->value[i]))
			continue;
		if (!hash_add_u64(&p->words, p->value[i], NULL))
			return false;
		p->word[p->nr_words++] = p->value[i];
	}
	return true;
}

static void try_dictionary(struct columns_packer *p, struct pack_form *f, uint32_t rows)
{
	const struct pack_word *word;

	if (!words_gather(p, rows))
		return;
	qsort(p->word, p->nr_words, sizeof(*p->word), order_numbers);
	for (uint32_t w = 0; w < p->nr_words; w++)
		((struct pack_word *)hash_find_u64(&p->words, p->word[w]))->place = w;
	for (uint32_t i = 0; i < rows; i++) {
		word = hash_find_u64(&p->words, p->value[i]);
		p->number[i] = word->place;
	}
	*f = (struct pack_form){.how = COLUMN_DICTIONARY,
				.width = 1,
				.cost = rows + (size_t)p->nr_words * WORD_COST};
}

/* Makes p->number that of the form, which was tried before another one. */
static void form_again(struct columns_packer *p, struct pack_column *c, enum column_how how,
		       uint32_t rows)
{
	if (how == COLUMN_PLAIN)
		pack_plain(p, c, rows);
	else if (how == COLUMN_PREVIOUS)
		try_previous(p, &c->form, rows);
	else if (how == COLUMN_LIKE)
		try_like(p, c, &c->form, rows);
	else
		try_dictionary(p, &c->form, rows);
}

void pack_choose(struct columns_packer *p, struct pack_column *c, const struct pack_kind *k)
{
	struct pack_form f = {.cost = SIZE_MAX}, best;
	enum column_how tried = COLUMN_PLAIN;

	values_take(p, c, k, p->value);
	pack_plain(p, c, k->rows);
	best = c->form;
	if (best.cost && c->size >= 4) {
		try_like(p, c, &f, k->rows);
		if (f.cost < best.cost)
			best = f;
		if (f.cost != SIZE_MAX)
			tried = COLUMN_LIKE;
	}
	if (best.width > 1) {
		try_previous(p, &f, k->rows);
		tried = COLUMN_PREVIOUS;
		if (f.cost < best.cost)
			best = f;
		f.cost = SIZE_MAX;
		try_dictionary(p, &f, k->rows);
		tried = f.cost == SIZE_MAX ? tried : COLUMN_DICTIONARY;
		if (f.cost < best.cost)
			best = f;
	}
	c->form = best;
	p->nr_like += best.how == COLUMN_LIKE;
	if (best.how != tried)
		form_again(p, c, best.how, k->rows);
}
