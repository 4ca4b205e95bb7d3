// SPDX-License-Identifier: GPL-2.0-or-later
/* The table of open begins: against plain lists in random use, and at its limit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pairing/open_table.h"

enum { KEYS = 3000, LIMIT = 300, STEPS = 60000 };

struct entry {
	struct open_begin begin;
	uint64_t id;
};

/* What must be open, oldest first. */
struct model {
	struct {
		uint64_t key, id;
	} open[LIMIT];
	unsigned int nr;
};

static struct pair_key key_of(uint64_t n)
{
	return (struct pair_key){{n / 50, n % 50, 0}};
}

static unsigned int innermost(const struct model *m, uint64_t key)
{
	for (unsigned int i = m->nr; i-- > 0;)
		if (m->open[i].key == key)
			return i;
	return LIMIT;
}

static void drop(struct model *m, unsigned int i)
{
	memmove(&m->open[i], &m->open[i + 1], (--m->nr - i) * sizeof(m->open[0]));
}

static void compare(const struct open_table *t, const struct model *m)
{
	const struct entry *e = open_oldest(t);

	assert_int_equal(t->nr, m->nr);
	for (unsigned int i = 0; i < m->nr; i++, e = open_newer(t, e)) {
		assert_non_null(e);
		assert_int_equal(e->id, m->open[i].id);
	}
	assert_null(e);
}

static void step(struct open_table *t, struct model *m, uint64_t key, unsigned int what,
		 uint64_t id)
{
	unsigned int i = innermost(m, key);
	struct entry *e = open_find(t, key_of(key));

	assert_int_equal(e ? e->id : 0, i < LIMIT ? m->open[i].id : 0);
	if (what < 5) {
		bool full = m->nr == LIMIT;

		e = open_add(t, key_of(key));
		assert_int_equal(!e, full);
		if (full)
			return;
		e->id = id;
		m->open[m->nr].key = key;
		m->open[m->nr++].id = id;
	} else if (e && what < 9) {
		open_remove(t, e);
		drop(m, i);
	} else if (m->nr && what == 9) { /* any, wherever it is nested */
		i = (unsigned int)(id % m->nr);
		e = open_oldest(t);
		for (unsigned int n = 0; n < i; n++)
			e = open_newer(t, e);
		open_remove(t, e);
		drop(m, i);
	}
}

static void random_use(void **state)
{
	struct open_table t = OPEN_TABLE(struct entry, 2, LIMIT);
	struct model m = {0};
	uint64_t seed = 1, used;

	(void)state;
	for (uint64_t id = 1; id <= STEPS; id++) {
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		used = id / 20000 % 2 ? KEYS : 20; /* few keys nest, many make idle ones */
		step(&t, &m, (seed >> 33) % used, (unsigned int)(seed >> 20) % 10, id);
		if (id % 97 == 0)
			compare(&t, &m);
		assert_true(t.innermost.nr <= 3 * LIMIT + OPEN_IDLE_MIN + 1);
	}
	assert_true(t.refused);
	open_table_deinit(&t);
}

/* What is refused takes no place as a key, either. */
static void full_has_no_idle_keys(void **state)
{
	struct open_table t = OPEN_TABLE(struct entry, 2, LIMIT);

	(void)state;
	for (uint64_t i = 0; i < 10 * LIMIT; i++)
		assert_int_equal(open_add(&t, key_of(i)) != NULL, i < LIMIT);
	assert_int_equal(t.innermost.nr, LIMIT);
	assert_int_equal(t.refused, 9 * LIMIT);
	open_table_deinit(&t);
}

static void renewed(void **state)
{
	struct open_table t = OPEN_TABLE(struct entry, 2, LIMIT);
	struct entry *e;

	(void)state;
	for (uint64_t i = 0; i < 3; i++) {
		e = open_add(&t, key_of(i));
		e->id = i;
	}
	open_renew(&t, open_find(&t, key_of(0)));
	open_renew(&t, open_find(&t, key_of(0)));
	e = open_oldest(&t);
	assert_int_equal(e->id, 1);
	e = open_newer(&t, e);
	assert_int_equal(e->id, 2);
	e = open_newer(&t, e);
	assert_int_equal(e->id, 0);
	assert_null(open_newer(&t, e));
	open_table_deinit(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_use),
		cmocka_unit_test(full_has_no_idle_keys),
		cmocka_unit_test(renewed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
