// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "exporter/vm.h"

#define UPDATE(t, rest, ...)                                                                       \
	do {                                                                                       \
		struct top_k_key keys_[] = {__VA_ARGS__};                                          \
		top_k_update(t, keys_, sizeof(keys_) / sizeof(*keys_), rest);                      \
	} while (0)

/* UINT64_MAX: not shown */
static uint64_t shown(const struct top_k *t, uint64_t key)
{
	for (unsigned int i = 0; i < t->nr; i++)
		if (t->shown[i].key == key)
			return t->shown[i].count;
	return UINT64_MAX;
}

static void the_busiest_are_shown(void **state)
{
	struct top_k t;

	(void)state;
	assert_int_equal(top_k_init(&t, 2), 0);
	UPDATE(&t, 0, {1, 10});
	UPDATE(&t, 0, {1, 10}, {2, 30});
	assert_int_equal(t.other, 0);
	UPDATE(&t, 5, {1, 10}, {2, 30}, {3, 19});
	assert_int_equal(shown(&t, 3), UINT64_MAX);
	assert_int_equal(t.other, 24);
	UPDATE(&t, 5, {1, 10}, {2, 30}, {3, 21});
	assert_int_equal(t.nr, 2);
	assert_int_equal(shown(&t, 2), 30);
	assert_int_equal(shown(&t, 3), 21);
	assert_int_equal(shown(&t, 1), UINT64_MAX);
	UPDATE(&t, 6, {1, 12}, {2, 31}, {3, 24});
	assert_int_equal(shown(&t, 3), 24);
	top_k_free(&t);
}

/* Each access after the first reading grows either a shown key or `other`, which never decreases. */
static void nothing_is_lost(void **state)
{
	struct top_k t;
	uint64_t other;

	(void)state;
	assert_int_equal(top_k_init(&t, 1), 0);
	UPDATE(&t, 0, {1, 10}, {2, 5});
	other = t.other;
	assert_int_equal(other, 5);
	UPDATE(&t, 3, {1, 11}, {2, 9}); /* shown 1 more, others 4 and 3 more */
	assert_int_equal(t.other, other + 7);
	UPDATE(&t, 3, {1, 11}, {2, 21}); /* not yet twice */
	assert_int_equal(shown(&t, 1), 11);
	UPDATE(&t, 3, {1, 11}, {2, 24}); /* 2 replaces 1 after it was counted as other */
	assert_int_equal(t.other, other + 22);
	assert_int_equal(shown(&t, 2), 24);
	assert_int_equal(shown(&t, 1), UINT64_MAX);
	UPDATE(&t, 3, {1, 12}, {2, 30});
	assert_int_equal(t.other, other + 23);
	assert_int_equal(shown(&t, 2), 30);
	top_k_free(&t);
}

static void a_limit_of_none(void **state)
{
	struct top_k t;

	(void)state;
	assert_int_equal(top_k_init(&t, 0), 0);
	UPDATE(&t, 1, {1, 10});
	assert_int_equal(t.nr, 0);
	assert_int_equal(t.other, 11);
	top_k_free(&t);
}

static void equal_keys_are_added(void **state)
{
	struct top_k_key keys[] = {{7, 1}, {3, 10}, {7, 2}, {3, 20}, {5, 4}};

	(void)state;
	assert_int_equal(top_k_merge(keys, 5), 3);
	assert_int_equal(keys[0].key, 3);
	assert_int_equal(keys[0].count, 30);
	assert_int_equal(keys[2].key, 7);
	assert_int_equal(keys[2].count, 3);
	assert_int_equal(top_k_merge(keys, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_busiest_are_shown),
		cmocka_unit_test(nothing_is_lost),
		cmocka_unit_test(a_limit_of_none),
		cmocka_unit_test(equal_keys_are_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
