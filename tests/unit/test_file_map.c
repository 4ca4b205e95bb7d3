// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that becomes shorter while it is mapped: the reading process ends with a message, not by SIGBUS. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail

#include "base/error.h"
#include "base/file_map.h"
#include "base/temporary.h"

enum { BYTES = 1 << 20 };

static const char PATH[] = "file_map.data", TEMPORARY[] = "file_map.tmp";

static int file_make(void)
{
	int fd = open(PATH, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	return fd;
}

/* In a child, its messages to `err`: reads the last byte, past the end by then if `shorter`. */
static int read_in_child(bool shorter, int err)
{
	int status, fd = file_make();
	pid_t pid = fork();

	if (!pid) {
		const volatile uint8_t *map = file_map(fd, BYTES, PATH);

		file_map_init();
		dup2(err, STDERR_FILENO);
		temporary_add(TEMPORARY);
		close(open(TEMPORARY, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
		if (!map || (shorter && ftruncate(fd, BYTES / 2)))
			_exit(9);
		_exit(map[BYTES - 1]);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fd);
	return status;
}

static void test_unchanged(void **state)
{
	int status = read_in_child(false, STDERR_FILENO);

	(void)state;
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(unlink(TEMPORARY), 0);
	unlink(PATH);
}

static void test_shorter(void **state)
{
	char text[200] = "";
	int err[2], status;

	(void)state;
	assert_int_equal(pipe(err), 0);
	status = read_in_child(true, err[1]);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
	assert_true(read(err[0], text, sizeof(text) - 1) > 0);
	assert_string_equal(text, "hostrace: file_map.data: became shorter while it was read\n");
	assert_int_not_equal(access(TEMPORARY, F_OK), 0);
	unlink(PATH);
}

static void test_unmapped(void **state)
{
	int fd = file_make();

	(void)state;
	for (int i = 0; i < 1000; i++) { /* more than there is space for at once */
		void *map = file_map(fd, BYTES, PATH);

		assert_non_null(map);
		file_unmap(map, BYTES);
	}
	file_unmap(NULL, 0);
	close(fd);
	assert_null(file_map(-1, BYTES, PATH));
	assert_non_null(strstr(error_text(), PATH));
	unlink(PATH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_unchanged),
		cmocka_unit_test(test_shorter),
		cmocka_unit_test(test_unmapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
