// SPDX-License-Identifier: GPL-2.0-or-later
/* Inputs that are pipes: what is in them can be read again and again by the same name, up to a limit. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "input/input_set.h"

#include <cmocka.h>

/* A pipe that holds the text; its path. */
static int pipe_holds(const char *text, char *path, size_t size)
{
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	assert_int_equal(write(fd[1], text, strlen(text)), strlen(text));
	close(fd[1]);
	snprintf(path, size, "/dev/fd/%d", fd[0]);
	return fd[0];
}

static void assert_holds(const char *path, const char *text)
{
	char buf[64] = "";
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, buf, sizeof(buf)), strlen(text));
	assert_string_equal(buf, text);
	close(fd);
}

static void pipe_can_be_read_twice(void **state)
{
	char name[32];
	const char *path = name;
	int fd = pipe_holds("seven bytes", name, sizeof(name));

	(void)state;
	assert_int_equal(input_spool(&path, 11), 0);
	assert_ptr_equal(path, name);
	assert_holds(path, "seven bytes");
	assert_holds(path, "seven bytes");
	assert_int_equal(input_spool(&path, 11), 0); /* it is a file now */
	assert_holds(path, "seven bytes");
	close(fd);
}

static void too_much_is_an_error(void **state)
{
	char name[32];
	const char *path = name;
	int fd = pipe_holds("seven bytes", name, sizeof(name));

	(void)state;
	assert_int_equal(input_spool(&path, 10), -EFBIG);
	assert_non_null(strstr(error_text(), "more than 10 bytes"));
	close(fd);
}

static void other_paths_remain(void **state)
{
	static const char *const paths[] = {"/dev/null", "/no/such/file", "/dev/fd/x", "."};
	const char *minus = "-";

	(void)state;
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		const char *path = paths[i];

		assert_int_equal(input_spool(&path, 10), 0);
		assert_ptr_equal(path, paths[i]);
	}
	assert_non_null(freopen("/dev/null", "r", stdin));
	assert_int_equal(input_spool(&minus, 10), 0);
	assert_string_equal(minus, "/dev/stdin");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipe_can_be_read_twice),
		cmocka_unit_test(too_much_is_an_error),
		cmocka_unit_test(other_paths_remain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
