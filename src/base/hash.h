/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hash functions, and one bounded hash table. Entries of the caller's type are in the table itself and begin with their
 * key: one or more uint64_t, or a pointer to a text. For entries in an array of the caller's: struct hash_index, below.
 *
 *	struct thread {
 *		uint64_t id;
 *		uint32_t vcpu;
 *	};
 *	struct hash_table threads = HASH_TABLE(struct thread, 1, THREADS_MAX);
 *	struct thread *t = hash_add_u64(&threads, id, NULL);
 *
 * Open addressing with linear probing, at most half full; removal leaves no tombstone. A table allocates on
 * its first entry and doubles up to its limit. Pointers to entries are valid until the next entry is added or removed.
 * A table's hash values have a random key, which differs in each process: nobody can make input whose keys have one
 * hash. So what depends on the order of entries sorts them (hash_sorted()). For an index, the caller uses the keyed
 * functions. The others have the same values in every run; they are for caches, and must not be stored in files.
 */
#ifndef HOSTRACE_HASH_H
#define HOSTRACE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HASH_FACTOR_1 0xff51afd7ed558ccdull
#define HASH_FACTOR_2 0x9e3779b97f4a7c15ull

/* Both halves of a product, so that every bit of the result depends on every bit of both numbers. */
static inline uint64_t hash_pair(uint64_t a, uint64_t b)
{
	unsigned __int128 product =
		(unsigned __int128)(a ^ HASH_FACTOR_1) * (b ^ HASH_FACTOR_2);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t hash_u64(uint64_t value)
{
	return hash_pair(value, 0);
}

static inline uint64_t hash_words(const uint64_t *word, unsigned int nr)
{
	uint64_t h = hash_pair(word[0], nr > 1 ? word[1] : 0);

	for (unsigned int i = 2; i < nr; i++)
		h = hash_pair(h, word[i]);
	return h;
}

uint64_t hash_bytes(const void *bytes, size_t len);

/* A random number, the same for the whole process. */
uint64_t hash_key(void);

/* Both halves of the key differ, and each is unknown to whoever makes the input. */
static inline uint64_t hash_pair_by(uint64_t key, uint64_t a, uint64_t b)
{
	return hash_pair(a ^ key, b ^ (key << 32 | key >> 32));
}

static inline uint64_t hash_keyed_pair(uint64_t a, uint64_t b)
{
	return hash_pair_by(hash_key(), a, b);
}

uint64_t hash_keyed_bytes(const void *bytes, size_t len);

static inline uint64_t hash_keyed_text(const char *text)
{
	return hash_keyed_bytes(text, strlen(text));
}

static inline uint64_t hash_text(const char *text)
{
	return hash_bytes(text, strlen(text));
}

struct hash_table {
	uint8_t *slots; /* each: the key's hash with the lowest bit set, or 0 if the slot is free; the entry */
	uint32_t mask; /* number of slots - 1 */
	uint32_t nr, max;
	uint32_t slot_size, key_words; /* key_words 0: the key is a text */
	uint64_t refused; /* entries not added because the table was full or out of memory */
	uint64_t seed;	  /* hash_key(); 0: the table had no entry yet */
};

/* An empty table of entries that begin with `words` numbers as their key; at most `limit` of them (below 2^30). */
#define HASH_TABLE(type, words, limit) \
	((struct hash_table){.slot_size = sizeof(uint64_t) + sizeof(type) + 0 * sizeof(struct { \
		_Static_assert(_Alignof(type) <= _Alignof(uint64_t), "the entry is not aligned"); \
		char c; }), \
			     .key_words = (words), \
			     .max = (limit)})

/* Entries begin with a pointer to a text that the caller owns and keeps for as long as the entry exists. */
#define HASH_TABLE_OF_TEXTS(type, limit) HASH_TABLE(type, 0, limit)

/* Frees the table's memory; it is then empty and may be used again. */
void hash_deinit(struct hash_table *t);

/* Removes all entries and keeps the memory and the count of refused entries. */
void hash_clear(struct hash_table *t);

/* ---- find: the entry, or NULL ---- */

static inline uint64_t *hash_slot_(const struct hash_table *t, uint64_t slot)
{
	return (uint64_t *)(void *)(t->slots + (slot & t->mask) * t->slot_size);
}

static inline void *hash_find_u64(const struct hash_table *t, uint64_t key)
{
	const uint64_t *slot;

	if (!t->nr)
		return NULL;
	for (uint64_t i = hash_pair_by(t->seed, key, 0) >> 32; *(slot = hash_slot_(t, i)); i++)
		if (slot[1] == key)
			return (void *)(slot + 1);
	return NULL;
}

void *hash_find_words_(const struct hash_table *t, const uint64_t *key);

/* `key`: as many numbers as the table's keys have; two are the usual case. */
static inline void *hash_find_words(const struct hash_table *t, const uint64_t *key)
{
	const uint64_t *slot;

	if (!t->nr)
		return NULL;
	if (t->key_words != 2)
		return hash_find_words_(t, key);
	for (uint64_t i = hash_pair_by(t->seed, key[0], key[1]) >> 32; *(slot = hash_slot_(t, i));
	     i++)
		if (slot[1] == key[0] && slot[2] == key[1])
			return (void *)(slot + 1);
	return NULL;
}

void *hash_find_text(const struct hash_table *t, const char *key);

/* ---- add: the entry with this key, which is zero but for its key if it is new ---- */

/*
 * NULL, with *ret_new false, if the table is full or out of memory (counted in `refused`).
 * `ret_new` may be NULL.
 */
void *hash_add_u64(struct hash_table *t, uint64_t key, bool *ret_new);
void *hash_add_words(struct hash_table *t, const uint64_t *key, bool *ret_new);
/* The new entry's key is `key` itself: the caller may replace it by a copy. */
void *hash_add_text(struct hash_table *t, const char *key, bool *ret_new);

/*
 * The entries that were used last, for keys that repeat: one comparison instead of a hash value and a search. Zero at
 * first; for one table, from which nothing is removed. hash_clear() takes a new one.
 */
enum { HASH_RECENT = 64 };

struct hash_recent {
	uint64_t *entry[HASH_RECENT];
};

/* As hash_add_words(); `words`: as the table's keys have, a constant. */
static inline void *hash_add_recent(struct hash_table *t, struct hash_recent *recent,
				    const uint64_t *key, unsigned int words, bool *ret_new)
{
	uint64_t sum = 0, **entry;

	for (unsigned int i = 0; i < words; i++)
		sum += key[i] * (HASH_FACTOR_2 + 2 * i); /* not one after the other */
	entry = &recent->entry[sum >> 32 & (HASH_RECENT - 1)];
	*ret_new = false;
	if (*entry && !memcmp(*entry, key, words * sizeof(*key)))
		return *entry;
	*entry = hash_add_words(t, key, ret_new);
	if (*ret_new) { /* others may have moved */
		uint64_t *added = *entry;

		*recent = (struct hash_recent){0};
		*entry = added;
	}
	return *entry;
}

/* ---- remove, iterate ---- */

/*
 * Entries that follow are moved, so that pointers to entries become invalid. Returns the position at which an
 * iteration continues.
 */
uint32_t hash_remove(struct hash_table *t, void *entry);

/*
 * The next entry from position *at on, or NULL; start with 0. The order differs in each run.
 * The visited entry may be removed; then entries visited before may be visited again, but none is skipped:
 *
 *	for (uint32_t at = 0; (e = hash_next(t, &at));)
 *		if (is_over(e))
 *			at = hash_remove(t, e);
 */
void *hash_next(const struct hash_table *t, uint32_t *at);

/*
 * Pointers to all entries, in the order of `order`, a comparison for qsort(); NULL: of their numbers. The caller frees
 * the array. NULL, with *ret_nr 0: out of memory.
 */
void *hash_sorted(const struct hash_table *t, int (*order)(const void *, const void *),
		  size_t *ret_nr);

/* ---- index: finds entries that are in an array of the caller's ---- */

/*
 * A slot has 8 bytes whatever the entries are, so an index of millions grows fast, and much of it stays in the caches.
 * The caller compares the keys:
 *
 *	struct hash_index by_name = HASH_INDEX(NAMES_MAX);
 *
 *	for (uint64_t probe = 0; (i = hash_index_next(&by_name, hash, &probe)) != HASH_NONE;)
 *		if (is_equal(&name[i], ...))
 *			return i;
 *	...
 *	if (!hash_index_add(&by_name, hash, nr))
 *		return fail(-ENOMEM, "out of memory");
 *	nr++;
 */
struct hash_index {
	uint64_t *slots; /* each: the hash's upper half; number + 1, or 0 if the slot is free */
	uint32_t mask;	 /* number of slots - 1 */
	uint32_t nr, max;
	uint64_t refused; /* numbers not added because the index is full, or memory is short */
};

#define HASH_NONE UINT32_MAX

/* An empty index of at most `limit` numbers (below 2^30). */
#define HASH_INDEX(limit) ((struct hash_index){.max = (limit)})

/* Frees the index's memory; it is then empty and may be used again. */
void hash_index_deinit(struct hash_index *x);

/* The next number that was added with this hash (or, rarely, with a similar one); HASH_NONE: there are no more. */
static inline uint32_t hash_index_next(const struct hash_index *x, uint64_t hash, uint64_t *probe)
{
	uint64_t slot;

	while (x->slots && (slot = x->slots[((hash >> 32) + *probe) & x->mask])) {
		++*probe;
		if (slot >> 32 == hash >> 32)
			return (uint32_t)slot - 1;
	}
	return HASH_NONE;
}

/* Adds a number (below 2^30), whatever is there of this hash. False: refused, and counted. */
bool hash_index_add(struct hash_index *x, uint64_t hash, uint32_t number);

#endif
