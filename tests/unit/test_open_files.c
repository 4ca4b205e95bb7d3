// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that is opened once: streams of it have positions of their own, and read it after another took its name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#undef fail

#include "base/file_map.h"
#include "base/open_files.h"

enum { LINES = 2323 }; /* more than a buffer of stdio holds */

static const char PATH[] = "open_files.data";

static void file_make(const char *word)
{
	FILE *f = fopen(PATH, "we");

	assert_non_null(f);
	for (int i = 0; i < LINES; i++)
		fprintf(f, "%s %d\n", word, i);
	assert_int_equal(fclose(f), 0);
}

static void line_expect(FILE *f, const char *word, int nr)
{
	char line[64], expected[64];

	snprintf(expected, sizeof(expected), "%s %d\n", word, nr);
	assert_non_null(fgets(line, sizeof(line), f));
	assert_string_equal(line, expected);
}

static void test_streams(void **state)
{
	struct open_files files = {0};
	FILE *first, *second;

	(void)state;
	file_make("old");
	first = open_files_stream(&files, PATH);
	for (int i = 0; i < LINES / 2; i++)
		line_expect(first, "old", i);
	unlink(PATH);
	file_make("new");
	second = open_files_stream(&files, PATH);
	for (int i = 0; i < LINES; i++)
		line_expect(second, "old", i);
	assert_int_equal(fgetc(second), EOF);
	line_expect(first, "old", LINES / 2);
	assert_int_equal(fseek(first, strlen("old 0\n"), SEEK_SET), 0);
	line_expect(first, "old", 1);
	assert_int_equal(files.nr, 1);
	fclose(first);
	fclose(second);
	open_files_close(&files);
	first = open_files_stream(NULL, PATH);
	line_expect(first, "new", 0);
	fclose(first);
	assert_null(open_files_stream(&files, "open_files.none"));
	unlink(PATH);
}

static void test_map(void **state)
{
	struct open_files files = {0};
	uint64_t bytes;
	uint8_t *data;

	(void)state;
	file_make("old");
	assert_int_equal(open_files_map(&files, PATH, &data, &bytes), 0);
	assert_memory_equal(data, "old 0\nold 1\n", 12);
	file_unmap(data, bytes);
	assert_int_equal(truncate(PATH, 0), 0);
	assert_int_equal(open_files_map(&files, PATH, &data, &bytes), 0);
	assert_null(data);
	assert_true(open_files_map(&files, ".", &data, &bytes) < 0);
	open_files_close(&files);
	unlink(PATH);
}

/* What a file was recognized as is kept with it, and of what is not kept nothing is. */
static void test_format(void **state)
{
	struct open_files files = {0};
	const struct reader_ops *some = (const struct reader_ops *)PATH;

	(void)state;
	file_make("old");
	assert_null(open_files_format(NULL, PATH));
	assert_null(open_files_format(&files, PATH));
	close(open_files_get(&files, PATH));
	close(open_files_get(&files, "."));
	assert_null(*open_files_format(&files, PATH));
	*open_files_format(&files, PATH) = some;
	assert_ptr_equal(*open_files_format(&files, PATH), some);
	assert_null(open_files_format(&files, "."));
	open_files_close(&files);
	unlink(PATH);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_streams),
		cmocka_unit_test(test_map),
		cmocka_unit_test(test_format),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
