// SPDX-License-Identifier: GPL-2.0-or-later
/* The limits of a profile: what is beyond is counted in a frame that says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analyzers/profile/backtraces.h"
#include "analyzers/profile/calltree.h"

/* Texts beyond the limit are one frame; those that are known keep theirs. */
static void test_texts_beyond(void **state)
{
	_cleanup_(calltree_cleanup_) struct calltree *t = NULL;
	uint32_t frame, beyond, first;
	char text[4096];

	(void)state;
	assert_int_equal(calltree_open(&(struct calltree_options){0}, &t), 0);
	assert_int_equal(calltree_frame(t, "first", &first), 0);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	for (unsigned int i = 1; i < CALLTREE_MIB_MAX << 8; i++) { /* 4 KiB each */
		text[snprintf(text, sizeof(text), "%u", i)] = '.';
		assert_int_equal(calltree_frame(t, text, &frame), 0);
	}
	assert_in_range(t->nr_texts, CALLTREE_MIB_MAX << 7, (CALLTREE_MIB_MAX << 8) - 1);
	assert_int_equal(calltree_frame(t, text, &beyond), 0);
	text[0] = 'y';
	assert_int_equal(calltree_frame(t, text, &frame), 0);
	assert_int_equal(frame, beyond);
	assert_string_equal(t->text[beyond], "[beyond the memory limit of a profile]");
	assert_int_equal(calltree_frame(t, "first", &frame), 0);
	assert_int_equal(frame, first);
}

static uint64_t hits_of_frame(const struct calltree *t, const char *text)
{
	uint64_t hits = 0;

	for (uint32_t i = 0; i < t->nr_nodes; i++)
		if (t->node[i].nr_frames && !strcmp(t->text[t->step[t->node[i].frames]], text))
			hits += t->node[i].hits;
	return hits;
}

/* Each hit is in the tree, whatever the number of paths: those beyond have one of their own, below each root. */
static void test_paths_beyond(void **state)
{
	_cleanup_(calltree_cleanup_) struct calltree *t = NULL;
	uint32_t root[2], frame[2], path, first;
	const unsigned int nr = 1 << 19;

	(void)state;
	assert_int_equal(calltree_open(&(struct calltree_options){0}, &t), 0);
	for (unsigned int i = 0; i < 2; i++)
		assert_int_equal(calltree_root(t, &root[i]), 0);
	for (unsigned int i = 0; i < 1024; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%u", i);
		assert_int_equal(calltree_frame(t, text, &frame[0]), 0);
		assert_int_equal(frame[0], i);
	}
	for (unsigned int i = 0; i < nr; i++) {
		frame[0] = i >> 10, frame[1] = i & 1023;
		assert_int_equal(calltree_path(t, frame, 2, &path), 0);
		assert_int_equal(calltree_weigh(t, root[i & 1], path, 1, 2), 0);
		first = i ? first : path;
	}
	assert_int_equal(calltree_weigh(t, root[0], first, 5, 0), 0);
	assert_int_equal(calltree_weigh(t, root[1], first, 7, 0), 0); /* its first one there */
	assert_int_equal(calltree_finish(t), 0);
	assert_int_equal(calltree_hits(t), nr + 12);
	assert_in_range(t->nr_paths, nr / 16, nr / 2);
	assert_int_equal(hits_of_frame(t, "[beyond the memory limit of a profile]"),
			 nr - (t->nr_sums - 2) + 7);
	assert_true(t->nr_nodes < nr);
}

/* All backtraces beyond are one frame that says so; those that are known keep theirs. */
static void test_backtraces_beyond(void **state)
{
	_cleanup_(backtraces_cleanup_) struct backtraces *b = NULL;
	struct sample s = {0};
	uint64_t address[128] = {0}, first;
	uint32_t number;

	(void)state;
	assert_int_equal(backtraces_open(&b), 0);
	for (unsigned int i = 0; i < BACKTRACES_MAX; i++) {
		address[0] = i + 1;
		assert_int_equal(backtrace_set(b, &s, address, 128), 0);
	}
	assert_int_equal(s.nr_backtrace, 1);
	assert_int_equal(sample_backtrace(&s, &first, 1), 1);
	assert_string_equal(backtrace_name(b, first), "[beyond the memory limit of backtraces]");
	address[0] = 1;
	assert_int_equal(backtrace_set(b, &s, address, 128), 0);
	assert_int_equal(s.nr_backtrace, 128);
	assert_int_equal(backtrace_number(b, &s, &number), 0);
	assert_int_equal(number, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts_beyond),
					   cmocka_unit_test(test_paths_beyond),
					   cmocka_unit_test(test_backtraces_beyond)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
