// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Open addressing with linear probing (Knuth, TAOCP 6.4, algorithms L and R): a removal moves later entries of the run
 * back, so that no tombstones are needed.
 */
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/order.h"

enum {
	SLOTS_MIN = 64,
};

static uint64_t key_make(void)
{
	uint64_t key = 0;

	/* without either, it is as good as the clock */
	if (getrandom(&key, sizeof(key), GRND_NONBLOCK) != sizeof(key) && getauxval(AT_RANDOM))
		memcpy(&key, (const void *)getauxval(AT_RANDOM), sizeof(key));
	return key ? key : monotonic_ns() | 1;
}

uint64_t hash_key(void)
{
	static uint64_t process_wide;
	uint64_t key = __atomic_load_n(&process_wide, __ATOMIC_RELAXED), made;

	if (key)
		return key;
	made = key_make();
	return __atomic_compare_exchange_n(&process_wide, &key, made, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED)
		       ? made
		       : key; /* of another thread */
}

static uint64_t bytes_by(uint64_t key, const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint64_t h = hash_pair_by(key, len, 0), word[2];

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(word, p, sizeof(word));
		h = hash_pair_by(key, h ^ word[0], word[1]);
	}
	memset(word, 0, sizeof(word));
	memcpy(word, p, len);
	return hash_pair_by(key, h ^ word[0], word[1]);
}

uint64_t hash_bytes(const void *bytes, size_t len)
{
	return bytes_by(0, bytes, len);
}

uint64_t hash_keyed_bytes(const void *bytes, size_t len)
{
	return bytes_by(hash_key(), bytes, len);
}

static uint64_t words_by(uint64_t key, const uint64_t *word, unsigned int nr)
{
	uint64_t h = hash_pair_by(key, word[0], nr > 1 ? word[1] : 0);

	for (unsigned int i = 2; i < nr; i++)
		h = hash_pair_by(key, h, word[i]);
	return h;
}

void hash_deinit(struct hash_table *t)
{
	free(t->slots);
	t->slots = NULL;
	t->nr = 0;
	t->mask = 0;
}

void hash_clear(struct hash_table *t)
{
	if (t->nr)
		memset(t->slots, 0, (t->mask + 1ul) * t->slot_size);
	t->nr = 0;
}

/* ---- find and add ---- */

static bool words_equal(const uint64_t *a, const uint64_t *b, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++)
		if (a[i] != b[i])
			return false;
	return true;
}

static bool is_key(const struct hash_table *t, const uint64_t *slot, const void *key)
{
	return t->key_words ? words_equal(slot + 1, key, t->key_words)
			    : !strcmp(*(const char *const *)(const void *)(slot + 1), key);
}

/* The key's slot, or the free slot where it belongs. */
static uint64_t *slot_of(const struct hash_table *t, uint64_t hash, const void *key)
{
	uint64_t *slot;

	for (uint64_t i = hash >> 32; *(slot = hash_slot_(t, i)); i++)
		if (*slot == hash && is_key(t, slot, key))
			break;
	return slot;
}

static bool hash_grow(struct hash_table *t)
{
	struct hash_table more = *t;

	more.mask = t->slots ? t->mask * 2 + 1 : SLOTS_MIN - 1;
	more.slots = calloc(more.mask + 1ul, t->slot_size);
	if (!more.slots)
		return false;
	for (uint64_t from = 0; t->slots && from <= t->mask; from++) {
		const uint64_t *slot = hash_slot_(t, from);
		uint64_t to = *slot >> 32;

		if (!*slot)
			continue;
		while (*hash_slot_(&more, to))
			to++;
		memcpy(hash_slot_(&more, to), slot, t->slot_size);
	}
	free(t->slots);
	*t = more;
	return true;
}

/* Of a key, or of what the entry begins with; the lowest bit marks a slot as used. */
static uint64_t hash_of(const struct hash_table *t, const void *key)
{
	return 1 | (t->key_words ? words_by(t->seed, key, t->key_words)
				 : bytes_by(t->seed, key, strlen(key)));
}

static void *hash_add(struct hash_table *t, const void *key, bool *ret_new)
{
	bool full = !t->slots || t->nr * 2ul > t->mask;
	uint64_t hash, *slot;

	if (!t->seed)
		t->seed = hash_key();
	hash = hash_of(t, key);
	slot = t->slots ? slot_of(t, hash, key) : NULL;
	*ret_new = false;
	if (slot && *slot)
		return slot + 1;
	if (t->nr >= t->max || (full && !hash_grow(t))) {
		t->refused++;
		return NULL;
	}
	if (full)
		slot = slot_of(t, hash, key);
	memset(slot + 1, 0, t->slot_size - sizeof(*slot));
	*slot = hash;
	t->nr++;
	*ret_new = true;
	return slot + 1;
}

void *hash_find_words_(const struct hash_table *t, const uint64_t *key)
{
	const uint64_t *slot = slot_of(t, hash_of(t, key), key);

	return *slot ? (void *)(slot + 1) : NULL;
}

void *hash_find_text(const struct hash_table *t, const char *key)
{
	uint64_t *slot = t->nr ? slot_of(t, hash_of(t, key), key) : NULL;

	return slot && *slot ? slot + 1 : NULL;
}

void *hash_add_words(struct hash_table *t, const uint64_t *key, bool *ret_new)
{
	bool fresh;
	void *e = hash_add(t, key, &fresh);

	if (ret_new)
		*ret_new = fresh;
	return fresh ? memcpy(e, key, t->key_words * sizeof(*key)) : e;
}

/* Mostly it is there. */
void *hash_add_u64(struct hash_table *t, uint64_t key, bool *ret_new)
{
	void *e = hash_find_u64(t, key);

	if (!e)
		return hash_add_words(t, &key, ret_new);
	if (ret_new)
		*ret_new = false;
	return e;
}

void *hash_add_text(struct hash_table *t, const char *key, bool *ret_new)
{
	bool fresh;
	void *e = hash_add(t, key, &fresh);

	if (ret_new)
		*ret_new = fresh;
	return fresh ? memcpy(e, &key, sizeof(key)) : e;
}

/* ---- remove and iterate ---- */

/* An entry that follows is moved into the free slot unless it would then lie before its first slot. */
uint32_t hash_remove(struct hash_table *t, void *entry)
{
	uint64_t *hole = (uint64_t *)entry - 1, *slot;
	uint64_t at = *hole >> 32, hole_at;

	while (hash_slot_(t, at) != hole)
		at++;
	hole_at = at;
	for (uint64_t i = at + 1; *(slot = hash_slot_(t, i)); i++) {
		uint64_t distance = (i - (*slot >> 32)) & t->mask; /* from its first slot */

		if (distance < i - hole_at)
			continue;
		memcpy(hole, slot, t->slot_size);
		hole = slot;
		hole_at = i;
	}
	*hole = 0;
	t->nr--;
	return (uint32_t)(at & t->mask);
}

void *hash_next(const struct hash_table *t, uint32_t *at)
{
	for (uint64_t i = *at; t->slots && i <= t->mask; i++)
		if (*hash_slot_(t, i)) {
			*at = (uint32_t)i + 1;
			return hash_slot_(t, i) + 1;
		}
	return NULL;
}

static int by_number(const void *a, const void *b, void *words)
{
	const uint64_t *const *x = a, *const *y = b;
	int order = 0;

	for (unsigned int i = 0; i < *(const uint32_t *)words && !order; i++)
		order = order_u64((*x)[i], (*y)[i]);
	return order;
}

void *hash_sorted(const struct hash_table *t, int (*order)(const void *, const void *),
		  size_t *ret_nr)
{
	void **all = calloc(t->nr + 1ul, sizeof(*all));
	size_t nr = 0;

	for (uint32_t at = 0; all && nr < t->nr; nr++)
		all[nr] = hash_next(t, &at);
	if (nr && order)
		qsort(all, nr, sizeof(*all), order);
	else if (nr)
		qsort_r(all, nr, sizeof(*all), by_number, (void *)&t->key_words);
	*ret_nr = nr;
	return all;
}

/* ---- index ---- */

void hash_index_deinit(struct hash_index *x)
{
	free(x->slots);
	x->slots = NULL;
	x->nr = 0;
	x->mask = 0;
}

static void index_put(struct hash_index *x, uint64_t slot)
{
	uint64_t i = slot >> 32;

	while (x->slots[i & x->mask])
		i++;
	x->slots[i & x->mask] = slot;
}

static bool index_grow(struct hash_index *x)
{
	struct hash_index more = *x;

	more.mask = x->slots ? x->mask * 2 + 1 : SLOTS_MIN - 1;
	more.slots = calloc(more.mask + 1ul, sizeof(*more.slots));
	if (!more.slots)
		return false;
	for (uint64_t i = 0; x->slots && i <= x->mask; i++)
		if (x->slots[i])
			index_put(&more, x->slots[i]);
	free(x->slots);
	*x = more;
	return true;
}

bool hash_index_add(struct hash_index *x, uint64_t hash, uint32_t number)
{
	if (x->nr >= x->max || ((!x->slots || x->nr * 2ul > x->mask) && !index_grow(x))) {
		x->refused++;
		return false;
	}
	index_put(x, (hash & ~0xffffffffull) | (number + 1));
	x->nr++;
	return true;
}
