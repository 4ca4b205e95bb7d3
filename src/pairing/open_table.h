/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The open begins: what has begun and not ended yet, found by key, in order of their begin. Begins of the same key
 * nest: the newest is found first, and the one below it again when that is removed. A caller for whom begins do not
 * nest looks before it adds, and keeps or renews what is open.
 *
 * Entries are of the caller's type and begin with a struct open_begin:
 *
 *	struct open_request {
 *		struct open_begin begin;
 *		uint64_t start_ns;
 *	};
 *	struct open_table requests = OPEN_TABLE(struct open_request, 2, REQUESTS_MAX);
 *	struct open_request *r = open_find(&requests, key);
 */
#ifndef HOSTRACE_OPEN_TABLE_H
#define HOSTRACE_OPEN_TABLE_H

#include "base/hash.h"

/* What begin and end must agree on: usually a process and what identifies the span within it. Unused words are 0. */
struct pair_key {
	uint64_t v[3];
};

struct open_begin {
	struct pair_key key;
	uint32_t number;       /* of this entry, from 1 on; 0 below: none */
	uint32_t below, above; /* the entry of the same key that this one is nested in; that is nested in it */
	uint32_t older, newer; /* in order of begin */
};

struct open_innermost {
	struct pair_key key;
	uint32_t number; /* of the newest entry of this key; 0: none is open now */
};

enum { OPEN_IDLE_MIN = 1024 }; /* fewer idle keys are kept whatever is open */

/* Keys stay in the hash table for a while when nothing of them is open: most begin again at once. */
struct open_table {
	struct hash_table innermost; /* of struct open_innermost */
	struct open_innermost *found; /* the last one that was asked for, or NULL */
	uint32_t nr_idle; /* keys of which nothing is open */
	uint8_t *entries;
	uint32_t size, nr_used; /* bytes of an entry; entries that were ever used */
	uint32_t nr, max;
	uint32_t free;	  /* removed entries, linked by `below` */
	uint32_t oldest, newest;
	uint64_t refused; /* not added because the table was full or out of memory */
};

/* An empty table of at most `limit` entries, whose keys have `words` words. It allocates when needed. */
#define OPEN_TABLE(type, words, limit)                                                             \
	((struct open_table){.size = sizeof(type),                                                 \
			     .max = (limit),                                                       \
			     .innermost = HASH_TABLE(struct open_innermost, (words),               \
						     3 * (limit) + 2 * OPEN_IDLE_MIN)})

void open_table_deinit(struct open_table *t);

/* The newest entry of this key, or NULL. Pointers to entries are valid until the next open_add(). */
static inline void *open_find(struct open_table *t, struct pair_key key)
{
	const struct open_innermost *i = t->found = hash_find_words(&t->innermost, key.v);

	return i && i->number ? t->entries + (size_t)(i->number - 1) * t->size : NULL;
}

void *open_add_(struct open_table *t, const struct pair_key *key);

/*
 * Adds one above those of the same key; its members after `begin` are undefined. NULL: the table was full or out of
 * memory (counted in `refused`).
 */
static inline void *open_add(struct open_table *t, struct pair_key key)
{
	return open_add_(t, &key);
}

/* The entry of this number, which is in the table. */
#define open_numbered(t, nr, type)                                                                 \
	((type *)(void *)((t)->entries + (size_t)((nr) - 1) * (t)->size))

/* Makes it the newest one of all in order of begin. */
void open_renew(struct open_table *t, void *entry);

/* Removes it, wherever it is nested. */
void open_remove(struct open_table *t, void *entry);

/*
 * In order of begin; NULL at the end. An entry may be removed once its neighbour was asked for:
 *
 *	for (e = open_oldest(t); e; e = next) {
 *		next = open_newer(t, e);
 *		...
 */
void *open_oldest(const struct open_table *t);
void *open_newer(const struct open_table *t, const void *entry);

#endif
