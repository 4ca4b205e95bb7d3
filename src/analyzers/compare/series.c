// SPDX-License-Identifier: GPL-2.0-or-later
/* Series found by their labels: counts per block, which are folded in pairs when the blocks become longer. */
#include "analyzers/compare/series.h"

#include <errno.h>

#include "base/error.h"

struct place {
	uint64_t label[LABELS_MAX];
	uint32_t index;
};

struct series_set *series_new(uint64_t start_ns, unsigned int nr_labels)
{
	struct series_set *s = calloc(1, sizeof(*s));

	if (!s) {
		fail(-ENOMEM, "out of memory");
		return NULL;
	}
	s->start_ns = start_ns;
	s->nr_labels = nr_labels;
	s->shift = SERIES_FIRST_SHIFT;
	s->places = HASH_TABLE(struct place, nr_labels ? nr_labels : 1, SERIES_MAX);
	return s;
}

void series_free_one(struct series *s)
{
	quantiles_free(&s->ns);
	free(s->key);
	free(s);
}

void series_clear(struct series_set *s)
{
	for (unsigned int i = 0; i < s->nr; i++)
		series_free_one(s->list[i]);
	s->nr = 0;
	s->refused = 0;
	hash_clear(&s->places);
}

void series_free(struct series_set *s)
{
	if (!s)
		return;
	series_clear(s);
	hash_deinit(&s->places);
	free(s);
}

/* *ret is NULL if there are too many. */
static int series_find(struct series_set *s, const uint64_t *label, struct series **ret)
{
	uint64_t key[LABELS_MAX] = {0};
	bool is_new;

	memcpy(key, label, s->nr_labels * sizeof(*label));
	struct place *at = hash_add_words(&s->places, key, &is_new);

	*ret = at && !is_new ? s->list[at->index] : NULL;
	if (!at || !is_new)
		return 0;
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return fail(-ENOMEM, "out of memory");
	memcpy((*ret)->label, key, sizeof(key));
	at->index = s->nr;
	s->list[s->nr++] = *ret;
	return 0;
}

/* Two blocks become one, so many times that a block has 1 << by of them. */
static void series_fold(struct series *s, unsigned int by)
{
	for (unsigned int i = 0; i < SERIES_BLOCKS; i++) {
		struct series_block old = s->block[i];
		unsigned int to = by < 32 ? i >> by : 0;

		s->block[i] = (struct series_block){0, 0};
		s->block[to].nr += old.nr;
		s->block[to].sum_ns += old.sum_ns;
	}
}

void series_widen(struct series_set *s, unsigned int shift)
{
	if (shift <= s->shift)
		return;
	for (unsigned int i = 0; i < s->nr; i++)
		series_fold(s->list[i], shift - s->shift);
	s->shift = shift;
}

int series_add(struct series_set *s, const uint64_t *label, uint64_t end_ns, uint64_t ns,
	       uint64_t nr)
{
	uint64_t at = end_ns > s->start_ns ? end_ns - s->start_ns : 0;
	struct series *to;
	int err = series_find(s, label, &to);

	if (!err && !to)
		s->refused += nr;
	if (err || !to)
		return err;
	while (at >> s->shift >= SERIES_BLOCKS)
		series_widen(s, s->shift + 1);
	to->nr += nr;
	to->block[at >> s->shift].nr += nr;
	to->block[at >> s->shift].sum_ns += nr == 1 ? ns : 0;
	return nr == 1 ? quantiles_add(&to->ns, ns) : 0;
}

static int series_sum(struct series *to, struct series *from)
{
	to->nr += from->nr;
	for (unsigned int b = 0; b < SERIES_BLOCKS; b++) {
		to->block[b].nr += from->block[b].nr;
		to->block[b].sum_ns += from->block[b].sum_ns;
	}
	return quantiles_merge(&to->ns, &from->ns);
}

int series_add_sum(struct series_set *s, const char *key, uint64_t nr, double mean_ns)
{
	struct series *one = s->nr < SERIES_MAX ? calloc(1, sizeof(*one)) : NULL;

	if (s->nr >= SERIES_MAX) {
		s->refused += nr;
		return 0;
	}
	if (one)
		one->key = strdup(key);
	if (!one || !one->key) {
		free(one);
		return fail(-ENOMEM, "out of memory");
	}
	one->nr = nr;
	one->mean_ns = mean_ns;
	s->list[s->nr++] = one;
	return 0;
}

int series_merge(struct series_set *s, struct series_set *from)
{
	int err = s->refused || from->refused ? -E2BIG : 0;

	series_widen(s, from->shift);
	series_widen(from, s->shift);
	for (unsigned int i = 0; i < from->nr && !err; i++) {
		struct series *theirs = from->list[i], *to;

		err = series_find(s, theirs->label, &to);
		if (!err)
			err = to ? series_sum(to, theirs) : -E2BIG;
	}
	return err;
}

struct named {
	const char *key;
	struct series *series;
};

/* *ret: the series that has this key now; it is new if its key is not set yet. */
static int named_get(struct hash_table *names, const char *key, struct series *s,
		     struct series **ret)
{
	bool is_new;

	s->key = strdup(key);
	struct named *n = s->key ? hash_add_text(names, s->key, &is_new) : NULL;

	if (!n)
		return fail(-ENOMEM, "out of memory");
	if (is_new)
		n->series = s;
	*ret = n->series;
	return 0;
}

int series_name(struct series_set *s, series_name_fn *name, void *arg)
{
	struct hash_table names = HASH_TABLE_OF_TEXTS(struct named, SERIES_MAX);
	unsigned int nr = s->nr;
	int err = 0;

	hash_deinit(&s->places); /* their places change */
	s->nr = 0;
	for (unsigned int i = 0; i < nr; i++) {
		struct series *one = s->list[i], *same = NULL;
		char key[256];

		if (!err && name(arg, one->label, key, sizeof(key)))
			err = named_get(&names, key, one, &same);
		if (same == one) {
			s->list[s->nr++] = one;
			continue;
		}
		if (!err && same)
			err = series_sum(same, one);
		series_free_one(one);
	}
	hash_deinit(&names);
	return err;
}
