// SPDX-License-Identifier: GPL-2.0-or-later
/* The line about what was read: when it appears, what it counts of several inputs, and that it is erased. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"

#include <cmocka.h>

enum { MIB = 1 << 20, LATER_MS = 1100 };

/* The clock of the program under test. The machine's goes on while it gives this test no CPU. */
static int64_t now_ms = 1000;

int clock_gettime(clockid_t clock, struct timespec *now)
{
	(void)clock;
	now->tv_sec = now_ms / 1000;
	now->tv_nsec = now_ms % 1000 * 1000000;
	return 0;
}

static void later(void)
{
	now_ms += LATER_MS;
}

static char text[4096];

/* What was printed since the last call. */
static const char *printed(void)
{
	ssize_t n;

	fflush(stderr);
	n = pread(STDERR_FILENO, text, sizeof(text) - 1, 0);
	assert_true(n >= 0);
	text[n] = '\0';
	assert_int_equal(ftruncate(STDERR_FILENO, 0), 0);
	lseek(STDERR_FILENO, 0, SEEK_SET);
	return text;
}

static void nothing_without_begin(void **state)
{
	struct progress_input in;

	(void)state;
	progress_input_open(&in, 100 * MIB);
	progress_read(50 * MIB);
	later();
	progress_read(1);
	progress_input_close(&in);
	progress_end();
	assert_string_equal(printed(), "");
}

static void nothing_in_the_first_second(void **state)
{
	struct progress_input in;

	(void)state;
	progress_begin("test");
	progress_input_open(&in, 100 * MIB);
	progress_read(50 * MIB);
	assert_string_equal(printed(), "");
	later();
	progress_read(5 * MIB);
	assert_string_equal(printed(), "\rtest: 55.0 of 100.0 MiB read (55 %), 1 s left");
	progress_read(MIB);
	assert_string_equal(printed(), ""); /* not yet again */
	progress_input_close(&in);
	progress_end();
	assert_string_equal(printed(), "\r                                             \r");
	progress_read(MIB);
	assert_string_equal(printed(), "");
}

static void several_inputs(void **state)
{
	struct progress_input a, b, nested, again;

	(void)state;
	progress_begin("test");
	progress_input_open(&a, 60 * MIB);
	progress_input_open(&b, 40 * MIB);
	progress_read(50 * MIB);
	progress_input_open(&nested, 60 * MIB); /* `a` once more, of which not all is needed */
	progress_read(20 * MIB);
	progress_input_close(&nested);
	later();
	progress_read(0);
	assert_non_null(strstr(printed(), "test: 50.0 of 100.0 MiB read (50 %)"));
	progress_input_close(&a);
	progress_input_close(&b);
	progress_input_open(&again, 100 * MIB);
	later();
	progress_read(MIB / 2);
	assert_string_equal(printed(), "\rtest: 0.5 of 100.0 MiB read (0 %)            "); /* no guess */
	progress_read(200 * MIB); /* it grew */
	later();
	progress_read(0);
	assert_non_null(strstr(printed(), "test: 100.0 of 100.0 MiB read (100 %), 0 s left"));
	progress_input_close(&again);
	progress_end();
	printed();
}

static void own_line(void **state)
{
	(void)state;
	progress_line_show("%d events, 1000 lost", 5);
	assert_string_equal(printed(), "\r5 events, 1000 lost");
	progress_line_show("%d events", 6);
	assert_string_equal(printed(), "\r6 events           ");
	progress_line_erase();
	assert_string_equal(printed(), "\r        \r");
	progress_line_erase();
	assert_string_equal(printed(), "");
	progress_line_show("%0200d", 7); /* wider than a terminal: could not be erased */
	assert_int_equal(strlen(printed()), 1 + 79);
	progress_line_erase();
	assert_int_equal(strlen(printed()), 1 + 79 + 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_without_begin),
		cmocka_unit_test(nothing_in_the_first_second),
		cmocka_unit_test(several_inputs),
		cmocka_unit_test(own_line),
	};
	FILE *f = tmpfile();

	if (!f || dup2(fileno(f), STDERR_FILENO) < 0)
		abort();
	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
