// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/error.h"
#include "exporter/top_k.h"

int top_k_init(struct top_k *t, unsigned int limit)
{
	*t = (struct top_k){.limit = limit, .shown = calloc(limit ? limit : 1, sizeof(*t->shown))};
	return t->shown ? 0 : fail(-ENOMEM, "out of memory");
}

void top_k_free(struct top_k *t)
{
	free(t->shown);
}

static int compare_keys(const void *a, const void *b)
{
	const struct top_k_key *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

/* The largest count first. */
static int compare_counts(const void *a, const void *b)
{
	const struct top_k_key *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count) - (x->count > y->count)
				    : compare_keys(a, b);
}

unsigned int top_k_merge(struct top_k_key *keys, unsigned int nr)
{
	unsigned int left = 0;

	qsort(keys, nr, sizeof(*keys), compare_keys);
	for (unsigned int i = 0; i < nr; i++)
		if (left && keys[left - 1].key == keys[i].key)
			keys[left - 1].count += keys[i].count;
		else
			keys[left++] = keys[i];
	return left;
}

static struct top_k_key *shown_find(const struct top_k *t, uint64_t key)
{
	for (unsigned int i = 0; i < t->nr; i++)
		if (t->shown[i].key == key)
			return &t->shown[i];
	return NULL;
}

/* The new counts of what is shown. Returns by how much they grew. */
static uint64_t shown_update(struct top_k *t, const struct top_k_key *keys, unsigned int nr)
{
	uint64_t grown = 0;

	for (unsigned int i = 0; i < nr; i++) {
		struct top_k_key *shown = shown_find(t, keys[i].key);

		if (shown && keys[i].count > shown->count) {
			grown += keys[i].count - shown->count;
			shown->count = keys[i].count;
		}
	}
	return grown;
}

/* While there is capacity, all are shown: from their first count, so that nothing of them is in `other`. */
static void capacity_fill(struct top_k *t, const struct top_k_key *keys, unsigned int nr)
{
	for (unsigned int i = 0; i < nr && t->nr < t->limit; i++)
		if (!shown_find(t, keys[i].key))
			t->shown[t->nr++] = (struct top_k_key){.key = keys[i].key};
}

/* Shows this key instead of one with less than half its count. False: there is none, nor for a key with fewer. */
static bool replace(struct top_k *t, const struct top_k_key *key)
{
	struct top_k_key *least = NULL;

	for (unsigned int i = 0; i < t->nr; i++)
		if (!least || t->shown[i].count < least->count)
			least = &t->shown[i];
	if (!least || key->count / 2 < least->count)
		return false;
	*least = *key;
	return true;
}

void top_k_update(struct top_k *t, struct top_k_key *keys, unsigned int nr, uint64_t rest)
{
	uint64_t total = rest, grown;

	qsort(keys, nr, sizeof(*keys), compare_counts);
	capacity_fill(t, keys, nr);
	grown = shown_update(t, keys, nr);
	for (unsigned int i = 0; i < nr; i++)
		total += keys[i].count;
	if (total > t->total + grown)
		t->other += total - t->total - grown;
	t->total = total;
	for (unsigned int i = 0; i < nr; i++)
		if (!shown_find(t, keys[i].key) && !replace(t, &keys[i]))
			break;
}
