// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Files of released versions stay readable: tests/golden/vN-*.hrt, with their contents in vN.txt. A new format version
 * adds files and never changes old ones. Run from the top of the source tree.
 */
#include "readers/readers.h"
#include "tracefile_util.h"

static char *twin_of(const char *path)
{
	static struct batch b;
	const struct event_type *declared[EV_LIMIT + 64] = {0};
	char *text = NULL;
	struct reader *r;
	size_t len;
	FILE *f;

	assert_int_equal(reader_open(path, NULL, &r), 0);
	f = open_memstream(&text, &len);
	textfile_head(&r->info, f);
	while (reader_next(r, &b) > 0)
		for (unsigned int i = 0; i < b.nr; i++) {
			const struct event_type *t = b.ev[i].type;

			if (event_type_ours(t->id) != t && declared[t->index] != t)
				textfile_type(t, f);
			declared[t->index] = t;
			textfile_print(&b.ev[i], f);
			fputc('\n', f);
		}
	assert_int_equal(json_array_size(r->info.caveats), 0);
	reader_close(r);
	fclose(f);
	return text;
}

static void same_text(const char *const *files, unsigned int nr, const char *text)
{
	struct bytes want = file_read(text);

	want.data[want.len] = 0;
	for (unsigned int i = 0; i < nr; i++) {
		char *got = twin_of(files[i]);

		assert_string_equal(got, (char *)want.data);
		free(got);
	}
	free(want.data);
}

static void version_1(void **state)
{
	static const char *const files[] = {"tests/golden/v1-raw.hrt", "tests/golden/v1-zstd.hrt",
					    "tests/golden/v1-differences.hrt",
					    "tests/golden/v1.txt"};

	(void)state;
	same_text(files, sizeof(files) / sizeof(files[0]), "tests/golden/v1.txt");
}

/* Records by columns: a piece of a real recording. */
static void version_1_4(void **state)
{
	static const char *const files[] = {"tests/golden/v1.4-columns.hrt",
					    "tests/golden/v1.4-zstd.hrt", "tests/golden/v1.4.txt"};

	(void)state;
	same_text(files, sizeof(files) / sizeof(files[0]), "tests/golden/v1.4.txt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(version_1),
		cmocka_unit_test(version_1_4),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
