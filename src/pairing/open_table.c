// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Begins by key in a hash table whose entries are indices into one array, and all of them linked in order of their
 * begin. When the table is full, a new begin is refused and counted.
 */
#include <stdlib.h>

#include "pairing/open_table.h"

static struct open_begin *at(const struct open_table *t, uint32_t number)
{
	return (void *)(t->entries + (size_t)(number - 1) * t->size);
}

void open_table_deinit(struct open_table *t)
{
	free(t->entries);
	hash_deinit(&t->innermost);
	*t = (struct open_table){.size = t->size, .max = t->max, .innermost = t->innermost};
}

/* ---- keys ---- */

static bool is_key(const struct open_innermost *i, const struct pair_key *k)
{
	return i->key.v[0] == k->v[0] && i->key.v[1] == k->v[1] && i->key.v[2] == k->v[2];
}

/* It was probably the last one asked for. */
static struct open_innermost *key_find_again(struct open_table *t, const struct pair_key *key)
{
	if (!t->found || !is_key(t->found, key))
		t->found = hash_find_words(&t->innermost, key->v);
	return t->found;
}

static void idle_remove(struct open_table *t)
{
	struct open_innermost *i;

	for (uint32_t place = 0; (i = hash_next(&t->innermost, &place));)
		if (!i->number)
			place = hash_remove(&t->innermost, i);
	t->nr_idle = 0;
	t->found = NULL;
}

/* Finds the key or adds it as an idle one. */
static struct open_innermost *key_add(struct open_table *t, const struct pair_key *key)
{
	struct open_innermost *i = key_find_again(t, key);

	if (i)
		return i;
	if (t->nr_idle > OPEN_IDLE_MIN && t->nr_idle > 2 * t->nr)
		idle_remove(t);
	t->found = hash_add_words(&t->innermost, key->v, NULL);
	t->nr_idle += t->found != NULL;
	return t->found;
}

/* ---- in order of begin ---- */

static void list_append(struct open_table *t, struct open_begin *b)
{
	b->older = t->newest;
	b->newer = 0;
	if (t->newest)
		at(t, t->newest)->newer = b->number;
	else
		t->oldest = b->number;
	t->newest = b->number;
}

static void list_unlink(struct open_table *t, const struct open_begin *b)
{
	if (b->older)
		at(t, b->older)->newer = b->newer;
	else
		t->oldest = b->newer;
	if (b->newer)
		at(t, b->newer)->older = b->older;
	else
		t->newest = b->older;
}

void open_renew(struct open_table *t, void *entry)
{
	list_unlink(t, entry);
	list_append(t, entry);
}

void *open_oldest(const struct open_table *t)
{
	return t->oldest ? at(t, t->oldest) : NULL;
}

void *open_newer(const struct open_table *t, const void *entry)
{
	uint32_t number = ((const struct open_begin *)entry)->newer;

	return number ? at(t, number) : NULL;
}

/* ---- add, remove ---- */

/* Memory for as many entries as the next power of two. */
static bool open_table_grow(struct open_table *t)
{
	size_t nr = t->nr_used ? 2 * (size_t)t->nr_used : 64;
	void *more;

	if (t->nr_used & (t->nr_used - 1) || (t->nr_used && t->nr_used < 64))
		return true;
	more = realloc(t->entries, nr * t->size);
	if (!more)
		return false;
	t->entries = more;
	return true;
}

static uint32_t number_new(struct open_table *t)
{
	uint32_t number = t->free;

	if (number) {
		t->free = at(t, number)->below;
		return number;
	}
	return open_table_grow(t) ? ++t->nr_used : 0;
}

void *open_add_(struct open_table *t, const struct pair_key *key)
{
	struct open_innermost *i = t->nr < t->max ? key_add(t, key) : NULL;
	uint32_t number = i ? number_new(t) : 0;
	struct open_begin *b;

	if (!number) {
		t->refused++;
		return NULL;
	}
	b = at(t, number);
	*b = (struct open_begin){.key = i->key, .number = number, .below = i->number};
	if (i->number)
		at(t, i->number)->above = number;
	t->nr_idle -= !i->number;
	i->number = number;
	list_append(t, b);
	t->nr++;
	return b;
}

void open_remove(struct open_table *t, void *entry)
{
	struct open_begin *b = entry;
	struct open_innermost *i = key_find_again(t, &b->key);

	if (b->below)
		at(t, b->below)->above = b->above;
	if (b->above)
		at(t, b->above)->below = b->below;
	else
		i->number = b->below;
	t->nr_idle += !i->number;
	list_unlink(t, b);
	b->below = t->free;
	t->free = b->number;
	t->nr--;
}
