// SPDX-License-Identifier: GPL-2.0-or-later
/* The limits of a profile: what is beyond is counted in a frame that says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "analyzers/profile/calltree.h"

/* Texts beyond the limit are one frame; those that are known keep theirs. */
static void test_texts_beyond(void **state)
{
	_cleanup_(calltree_cleanup_) struct calltree *t = NULL;
	uint32_t frame, beyond, first;
	char text[24];

	(void)state;
	assert_int_equal(calltree_open(&(struct calltree_options){0}, &t), 0);
	assert_int_equal(calltree_frame(t, "first", &first), 0);
	for (unsigned int i = 1; i < CALLTREE_TEXTS_MAX - 1; i++) {
		snprintf(text, sizeof(text), "%u", i);
		assert_int_equal(calltree_frame(t, text, &frame), 0);
		assert_int_equal(frame, i);
	}
	assert_int_equal(calltree_frame(t, "one more", &beyond), 0);
	assert_int_equal(calltree_frame(t, "and another", &frame), 0);
	assert_int_equal(frame, beyond);
	assert_non_null(strstr(t->text[beyond], "beyond the first 1048575"));
	assert_int_equal(calltree_frame(t, "first", &frame), 0);
	assert_int_equal(frame, first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_texts_beyond)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
