// SPDX-License-Identifier: GPL-2.0-or-later
/* Against a plain array: random adds, removals and finds; then the limit, growth and removal while iterating. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/hash.h"

enum { KEYS = 300, STEPS = 200000 };

struct entry {
	uint64_t key[3];
	uint32_t value;
};

struct model {
	bool present[KEYS];
	uint32_t value[KEYS], nr;
};

/* Among them 0, ~0, and numbers that differ in few bits, low or high. */
static void key_of(unsigned int i, unsigned int words, uint64_t ret[3])
{
	ret[0] = i == KEYS - 1 ? UINT64_MAX : i % 2 ? (uint64_t)i << 48 : i;
	ret[1] = words > 1 ? i / 7 : 0;
	ret[2] = words > 2 ? i % 7 : 0;
}

static struct entry *find(const struct hash_table *t, unsigned int i)
{
	uint64_t key[3];

	key_of(i, t->key_words, key);
	if (t->key_words == 1)
		assert_ptr_equal(hash_find_u64(t, key[0]), hash_find_words(t, key));
	return hash_find_words(t, key);
}

static void step(struct hash_table *t, struct model *m)
{
	unsigned int i = (unsigned int)random() % KEYS;
	struct entry *e = find(t, i);
	uint64_t key[3];
	bool fresh;

	key_of(i, t->key_words, key);
	assert_int_equal(e != NULL, m->present[i]);
	if (e)
		assert_int_equal(e->value, m->value[i]);
	if (e && random() % 2) {
		hash_remove(t, e);
		m->present[i] = false;
		m->nr--;
		return;
	}
	e = t->key_words == 1 ? hash_add_u64(t, key[0], &fresh) : hash_add_words(t, key, &fresh);
	assert_non_null(e);
	assert_int_equal(fresh, !m->present[i]);
	assert_memory_equal(e->key, key, t->key_words * sizeof(*key));
	if (fresh)
		assert_int_equal(e->value, 0);
	m->nr += fresh;
	m->present[i] = true;
	m->value[i] = e->value = (uint32_t)random();
}

static void compare(const struct hash_table *t, const struct model *m)
{
	const struct entry *e;
	uint32_t nr = 0, at = 0;

	for (unsigned int i = 0; i < KEYS; i++) {
		e = find(t, i);
		assert_int_equal(e != NULL, m->present[i]);
	}
	while ((e = hash_next(t, &at)))
		nr++;
	assert_int_equal(nr, m->nr);
	assert_int_equal(t->nr, m->nr);
}

static void random_steps(unsigned int words)
{
	struct hash_table t = HASH_TABLE(struct entry, words, KEYS);
	struct model m = {0};

	srandom(words);
	compare(&t, &m);
	for (unsigned int i = 0; i < STEPS; i++) {
		step(&t, &m);
		if (i % 1000 == 0)
			compare(&t, &m);
	}
	compare(&t, &m);
	hash_clear(&t);
	m = (struct model){0};
	compare(&t, &m);
	step(&t, &m);
	compare(&t, &m);
	assert_int_equal(t.refused, 0);
	hash_deinit(&t);
	compare(&t, &(struct model){0});
}

static void test_random(void **state)
{
	(void)state;
	for (unsigned int words = 1; words <= 3; words++)
		random_steps(words);
}

static void test_limit(void **state)
{
	struct hash_table t = HASH_TABLE(struct entry, 1, 1000);
	bool fresh;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		assert_non_null(hash_add_u64(&t, i << 32, NULL));
	assert_int_equal(t.refused, 0);
	fresh = true;
	assert_null(hash_add_u64(&t, 1, &fresh));
	assert_false(fresh);
	assert_null(hash_add_u64(&t, 2, NULL));
	assert_int_equal(t.refused, 2);
	assert_non_null(hash_add_u64(&t, 999ull << 32, &fresh)); /* known: not refused */
	assert_false(fresh);
	hash_remove(&t, (struct entry *)hash_find_u64(&t, 0));
	assert_non_null(hash_add_u64(&t, 1, &fresh));
	assert_true(fresh);
	assert_int_equal(t.nr, 1000);
	hash_deinit(&t);
}

static void test_growth_keeps_entries(void **state)
{
	struct hash_table t = HASH_TABLE(struct entry, 1, 1 << 20);

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		((struct entry *)hash_add_u64(&t, i * 4096ull, NULL))->value = i;
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(((struct entry *)hash_find_u64(&t, i * 4096ull))->value, i);
	assert_true(t.nr * 3 <= (t.mask + 1) * 2);
	assert_true(t.mask < 1 << 18);
	hash_deinit(&t);
}

/* Entries that move when the table grows are found where they are. */
static void test_recent(void **state)
{
	struct hash_table t = HASH_TABLE(struct entry, 3, KEYS);
	struct hash_recent recent = {0};

	(void)state;
	for (unsigned int i = 0; i < 20 * KEYS; i++) {
		unsigned int k = (unsigned int)random() % (1 + i / 20);
		uint64_t key[3];
		struct entry *e;
		bool fresh;

		key_of(k, 3, key);
		e = hash_add_recent(&t, &recent, key, 3, &fresh);
		assert_non_null(e);
		assert_ptr_equal(e, find(&t, k));
		assert_int_equal(e->value, fresh ? 0 : k);
		e->value = k;
	}
	hash_deinit(&t);
}

static void test_remove_while_iterating(void **state)
{
	struct hash_table t = HASH_TABLE(struct entry, 1, 10000);
	struct entry *e;

	(void)state;
	for (unsigned int round = 0; round < 50; round++) {
		hash_clear(&t);
		for (uint32_t i = 0; i < 20 + 7 * round; i++)
			((struct entry *)hash_add_u64(&t, (uint64_t)random(), NULL))->value = i % 3;
		for (uint32_t at = 0; (e = hash_next(&t, &at));)
			if (e->value)
				at = hash_remove(&t, e);
		assert_int_equal(t.nr, (20 + 7 * round + 2) / 3);
		for (uint32_t at = 0; (e = hash_next(&t, &at));)
			assert_int_equal(e->value, 0);
	}
	hash_deinit(&t);
}

struct word {
	const char *text;
	unsigned int number;
};

static void test_texts(void **state)
{
	struct hash_table t = HASH_TABLE_OF_TEXTS(struct word, 600);
	char text[1000][8];
	bool fresh;

	(void)state;
	for (unsigned int i = 0; i < 1000; i++) {
		snprintf(text[i], sizeof(text[i]), "%u", i);
		struct word *w = hash_add_text(&t, text[i], &fresh);

		assert_int_equal(fresh, i < 600);
		assert_int_equal(w != NULL, i < 600);
		if (w)
			w->number = i;
	}
	assert_int_equal(t.refused, 400);
	for (unsigned int i = 0; i < 600; i++) {
		char copy[8];

		strcpy(copy, text[i]);
		assert_int_equal(((struct word *)hash_find_text(&t, copy))->number, i);
		assert_ptr_equal(((struct word *)hash_add_text(&t, copy, &fresh))->text, text[i]);
		assert_false(fresh);
	}
	assert_null(hash_find_text(&t, ""));
	assert_null(hash_find_text(&t, "700"));
	hash_deinit(&t);
}

/* Small, aligned and high numbers spread over the low bits; texts of each length differ. */
static void test_functions(void **state)
{
	unsigned int used[3][1024] = {{0}}, free_slots[3] = {0};
	uint8_t zero[40] = {0};

	(void)state;
	for (uint64_t i = 0; i < 4096; i++) {
		used[0][hash_u64(i) % 1024]++;
		used[1][hash_u64(0xffff800000000000ull + i * 4096) % 1024]++;
		used[2][hash_u64(i << 32) % 1024]++;
	}
	for (unsigned int k = 0; k < 3; k++) {
		for (unsigned int i = 0; i < 1024; i++)
			free_slots[k] += !used[k][i];
		assert_true(free_slots[k] < 60); /* by chance 19: 1024 / e^4 */
	}
	for (unsigned int i = 0; i < sizeof(zero); i++)
		for (unsigned int k = 0; k < i; k++)
			assert_int_not_equal(hash_bytes(zero, i), hash_bytes(zero, k));
	assert_int_equal(hash_text("kvm_exit"), hash_bytes("kvm_exit", 8));
}

static bool index_has(const struct hash_index *x, uint64_t hash, uint32_t number)
{
	uint32_t i;

	for (uint64_t probe = 0; (i = hash_index_next(x, hash, &probe)) != HASH_NONE;)
		if (i == number)
			return true;
	return false;
}

static uint64_t index_hash(uint32_t i)
{
	return i < 100 ? 7 : i < 200 ? (uint64_t)i << 60 : hash_u64(i);
}

/* Numbers of equal hashes, of hashes that share a slot, and of any hash; then beyond the limit. */
static void test_index(void **state)
{
	enum { NR = 20000 };
	struct hash_index x = HASH_INDEX(NR);

	(void)state;
	assert_false(index_has(&x, 1, 0));
	for (uint32_t i = 0; i < NR; i++)
		assert_true(hash_index_add(&x, index_hash(i), i));
	for (uint32_t i = 0; i < NR; i++)
		assert_true(index_has(&x, index_hash(i), i));
	for (uint32_t i = NR; i < 2 * NR; i++)
		assert_false(index_has(&x, hash_u64(i), i));
	assert_false(hash_index_add(&x, 7, NR));
	assert_int_equal(x.refused, 1);
	assert_int_equal(x.nr, NR);
	hash_index_deinit(&x);
	assert_false(index_has(&x, 7, 0));
}

/*
 * Keys that were chosen: whatever the first number is, all have the hash 0 without a seed. Without it, this takes 10^10
 * comparisons. Few such keys would not be seen in the time: the table has the seed from its first entry on.
 */
static void test_chosen_numbers(void **state)
{
	enum { NR = 150000 };
	struct hash_table t = HASH_TABLE(struct entry, 2, NR);

	(void)state;
	for (uint64_t i = 0; i < NR; i++) {
		struct entry *e = hash_add_words(&t, (uint64_t[]){i, HASH_FACTOR_2}, NULL);

		assert_non_null(e);
		assert_int_not_equal(t.seed, 0);
		e->value = (uint32_t)i;
	}
	for (uint64_t i = 0; i < NR; i++) {
		const struct entry *e = hash_find_words(&t, (uint64_t[]){i, HASH_FACTOR_2});

		assert_non_null(e);
		assert_int_equal(e->value, i);
		assert_null(hash_find_words(&t, (uint64_t[]){i, HASH_FACTOR_2 + 1}));
	}
	hash_deinit(&t);
}

/* The same with texts, of which the second half makes the first one irrelevant. */
static void test_chosen_texts(void **state)
{
	enum { NR = 20000, BYTES = 17 };
	static char text[NR][BYTES];
	struct hash_table t = HASH_TABLE_OF_TEXTS(struct word, NR);
	const uint64_t factor = HASH_FACTOR_2;

	(void)state;
	for (int i = 0; i < NR; i++) {
		snprintf(text[i], BYTES, "%08d", i);
		memcpy(text[i] + 8, &factor, sizeof(factor));
		if (i) {
			assert_int_equal(hash_text(text[i]), hash_text(text[0]));
			assert_int_not_equal(hash_keyed_text(text[i]), hash_keyed_text(text[0]));
		}
		assert_non_null(hash_add_text(&t, text[i], NULL));
	}
	assert_int_not_equal(t.seed, 0);
	for (int i = 0; i < NR; i++)
		assert_non_null(hash_find_text(&t, text[i]));
	assert_int_equal(hash_keyed_text(text[0]), hash_keyed_text(text[0]));
	hash_deinit(&t);
}

static int by_value(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	return (*x)->value < (*y)->value ? -1 : 1;
}

static uint64_t key_of_another_process(void)
{
	char self[4096], command[4200];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	uint64_t key = 0;
	FILE *f;

	assert_true(len > 0);
	self[len] = '\0';
	snprintf(command, sizeof(command), "'%s' key", self);
	f = popen(command, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%" SCNx64, &key), 1);
	assert_int_equal(pclose(f), 0);
	return key;
}

/* What was chosen for one process does nothing in the next. */
static void test_key_of_each_process(void **state)
{
	uint64_t key[3] = {hash_key(), key_of_another_process(), key_of_another_process()};

	(void)state;
	assert_true(key[0] && key[1] && key[2]);
	assert_int_equal(key[0], hash_key());
	assert_int_not_equal(key[0], key[1]);
	assert_int_not_equal(key[0], key[2]);
	assert_int_not_equal(key[1], key[2]);
}

/* By their numbers, or as the caller wants it. */
static void test_sorted(void **state)
{
	struct hash_table t = HASH_TABLE(struct entry, 2, KEYS);
	struct entry **all;
	size_t nr;

	(void)state;
	free(hash_sorted(&t, NULL, &nr));
	assert_int_equal(nr, 0);
	for (uint32_t i = 0; i < KEYS; i++)
		((struct entry *)hash_add_words(&t, (uint64_t[]){i % 7, i / 7}, NULL))->value = i;
	all = hash_sorted(&t, by_value, &nr);
	assert_int_equal(nr, KEYS);
	for (uint32_t i = 0; i < KEYS; i++)
		assert_int_equal(all[i]->value, i);
	free(all);
	all = hash_sorted(&t, NULL, &nr);
	assert_int_equal(nr, KEYS);
	for (uint32_t i = 1; i < KEYS; i++)
		assert_true(all[i - 1]->key[0] < all[i]->key[0] ||
			    (all[i - 1]->key[0] == all[i]->key[0] &&
			     all[i - 1]->key[1] < all[i]->key[1]));
	free(all);
	hash_deinit(&t);
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1) /* key_of_another_process() */
		return printf("%" PRIx64 "\n", hash_key()) < 0;

	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_growth_keeps_entries),
		cmocka_unit_test(test_recent),
		cmocka_unit_test(test_remove_while_iterating),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_functions),
		cmocka_unit_test(test_index),
		cmocka_unit_test(test_chosen_numbers),
		cmocka_unit_test(test_chosen_texts),
		cmocka_unit_test(test_key_of_each_process),
		cmocka_unit_test(test_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
