// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "base/hash.h"

enum { SLOTS_MIN = 64 };

uint64_t hash_bytes(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;
	uint64_t h = hash_u64(len), word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = hash_u64(h ^ word);
	}
	word = 0;
	memcpy(&word, p, len);
	return hash_u64(h ^ word);
}

void hash_deinit(struct hash_table *t)
{
	free(t->entry);
	free(t->mark);
	t->entry = NULL;
	t->mark = NULL;
	t->nr = 0;
	t->mask = 0;
}

void hash_clear(struct hash_table *t)
{
	if (t->mark)
		memset(t->mark, 0, (t->mask + 1ul) * sizeof(*t->mark));
	t->nr = 0;
}

/* ---- find and add ---- */

static bool is_key(const struct hash_table *t, uint32_t slot, const void *key)
{
	const void *e = hash_entry_(t, slot);

	return t->key_words ? hash_words_equal_(e, key, t->key_words)
			    : !strcmp(*(const char *const *)e, key);
}

/* The key's slot, or the free slot where it belongs. */
static uint32_t slot_of(const struct hash_table *t, uint32_t mark, const void *key)
{
	uint32_t i = mark & t->mask;

	while (t->mark[i] && !(t->mark[i] == mark && is_key(t, i, key)))
		i = (i + 1) & t->mask;
	return i;
}

static bool grow(struct hash_table *t)
{
	struct hash_table more = *t;

	more.mask = t->mark ? t->mask * 2 + 1 : SLOTS_MIN - 1;
	more.entry = calloc(more.mask + 1ul, t->entry_size);
	more.mark = calloc(more.mask + 1ul, sizeof(*more.mark));
	if (!more.entry || !more.mark) {
		free(more.entry);
		free(more.mark);
		return false;
	}
	for (uint32_t from = 0; t->mark && from <= t->mask; from++) {
		uint32_t to = t->mark[from] & more.mask;

		if (!t->mark[from])
			continue;
		while (more.mark[to])
			to = (to + 1) & more.mask;
		more.mark[to] = t->mark[from];
		memcpy(hash_entry_(&more, to), hash_entry_(t, from), t->entry_size);
	}
	free(t->entry);
	free(t->mark);
	*t = more;
	return true;
}

static void *add(struct hash_table *t, uint64_t hash, const void *key, bool *ret_new)
{
	uint32_t mark = hash_mark_(hash), slot = t->mark ? slot_of(t, mark, key) : 0;
	bool full = !t->mark || (t->nr + 1ul) * 3 > (t->mask + 1ul) * 2;

	*ret_new = false;
	if (t->mark && t->mark[slot])
		return hash_entry_(t, slot);
	if (t->nr >= t->max || (full && !grow(t))) {
		t->refused++;
		return NULL;
	}
	if (full)
		slot = slot_of(t, mark, key);
	t->mark[slot] = mark;
	t->nr++;
	*ret_new = true;
	return memset(hash_entry_(t, slot), 0, t->entry_size);
}

void *hash_find_text(const struct hash_table *t, const char *key)
{
	uint32_t mark = hash_mark_(hash_text(key));
	uint32_t slot = t->nr ? slot_of(t, mark, key) : 0;

	return t->nr && t->mark[slot] ? hash_entry_(t, slot) : NULL;
}

void *hash_add_words(struct hash_table *t, const uint64_t *key, bool *ret_new)
{
	bool fresh;
	void *e = add(t, hash_words(key, t->key_words), key, &fresh);

	if (ret_new)
		*ret_new = fresh;
	return fresh ? memcpy(e, key, t->key_words * sizeof(*key)) : e;
}

void *hash_add_u64(struct hash_table *t, uint64_t key, bool *ret_new)
{
	return hash_add_words(t, &key, ret_new);
}

void *hash_add_text(struct hash_table *t, const char *key, bool *ret_new)
{
	bool fresh;
	void *e = add(t, hash_text(key), key, &fresh);

	if (ret_new)
		*ret_new = fresh;
	return fresh ? memcpy(e, &key, sizeof(key)) : e;
}

/* ---- remove and iterate ---- */

/* An entry that follows is moved into the free slot unless it would then lie before its first slot. */
uint32_t hash_remove_slot_(struct hash_table *t, uint32_t slot)
{
	uint32_t hole = slot;

	for (uint32_t i = (slot + 1) & t->mask; t->mark[i]; i = (i + 1) & t->mask) {
		uint32_t distance = (i - t->mark[i]) & t->mask; /* from its first slot */

		if (distance < ((i - hole) & t->mask))
			continue;
		t->mark[hole] = t->mark[i];
		memcpy(hash_entry_(t, hole), hash_entry_(t, i), t->entry_size);
		hole = i;
	}
	t->mark[hole] = 0;
	t->nr--;
	return slot;
}

void *hash_next(const struct hash_table *t, uint32_t *at)
{
	for (uint32_t i = *at; t->mark && i <= t->mask; i++)
		if (t->mark[i]) {
			*at = i + 1;
			return hash_entry_(t, i);
		}
	return NULL;
}
