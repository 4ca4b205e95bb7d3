/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A temporary directory for a test program, made and removed by its group's setup and teardown. */
#ifndef TESTS_DIR_UTIL_H
#define TESTS_DIR_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static char test_dir[64] = "/tmp/hostrace-test.XXXXXX";

/* The path of a file of the directory, valid until the eighth call after this one. */
static inline const char *in_dir(const char *name)
{
	static char path[8][256];
	static unsigned int nr;

	snprintf(path[++nr % 8], sizeof(path[0]), "%s/%s", test_dir, name);
	return path[nr % 8];
}

static inline void dir_put(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static inline int dir_make(void **state)
{
	(void)state;
	return mkdtemp(test_dir) ? 0 : -1;
}

static inline int dir_remove(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", test_dir);
	return system(command);
}

#endif
