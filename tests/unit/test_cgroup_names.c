// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "vm/cgroup_names.h"

/* Directories of any file system: their inode numbers are what matters. */
static char root[] = "/tmp/cgroups-XXXXXX";

static uint64_t folder(const char *name)
{
	char path[512];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(stat(path, &st), 0);
	return st.st_ino;
}

static void folder_remove(const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", root, name);
	assert_int_equal(rmdir(path), 0);
}

static void named(const struct cgroup_names *n, uint64_t id, const char *want)
{
	char buf[64];

	assert_string_equal(cgroup_name(n, id, buf, sizeof(buf)), want);
}

static void names(void **state)
{
	static const char deep[] =
		"a/0123456789012345678901234567890123456789012345678901234567890";
	_cleanup_(cgroup_names_cleanup_) struct cgroup_names *n = cgroup_names_new(root);
	uint64_t a = folder("a"), b = folder("a/b.service"), c = folder(deep);
	char buf[64], want[32];
	struct stat st;

	(void)state;
	assert_int_equal(stat(root, &st), 0);
	cgroup_names_want(n, st.st_ino);
	cgroup_names_want(n, b);
	cgroup_names_want(n, c);
	cgroup_names_want(n, ~UINT64_C(0));
	cgroup_names_read(n);
	named(n, 0, "idle");
	named(n, st.st_ino, "/");
	named(n, b, "/a/b.service");
	snprintf(want, sizeof(want), "id:%llu", (unsigned long long)a);
	named(n, a, want); /* nobody wanted it */
	named(n, ~UINT64_C(0), "id:18446744073709551615");
	/* longer than the buffer: its number, and its end */
	snprintf(want, sizeof(want), "id:%llu ...", (unsigned long long)c);
	assert_ptr_equal(strstr(cgroup_name(n, c, buf, sizeof(buf)), want), buf);
	assert_int_equal(strlen(buf), sizeof(buf) - 1);
	assert_string_equal(buf + sizeof(buf) - 11, "1234567890");

	/* removed: it keeps its name */
	folder_remove("a/b.service");
	cgroup_names_want(n, b);
	cgroup_names_read(n);
	named(n, b, "/a/b.service");
	folder_remove(deep);
	folder_remove("a");
}

static void nothing_mounted(void **state)
{
	_cleanup_(cgroup_names_cleanup_) struct cgroup_names *n = cgroup_names_new(NULL);

	(void)state;
	cgroup_names_want(n, 7);
	cgroup_names_read(n);
	named(n, 7, "id:7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(names),
					   cmocka_unit_test(nothing_mounted)};
	int failed;

	if (!mkdtemp(root))
		return 1;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(root);
	return failed;
}
