/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file that is written under another name and renamed when whole must not replace a device, a pipe or a link. */
#ifndef HOSTRACE_REPLACE_H
#define HOSTRACE_REPLACE_H

#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/error.h"

/* Is `path` there, and nothing to be replaced: /dev/null, a pipe, a symbolic link as /dev/stdout, a directory? */
static inline bool is_irreplaceable(const char *path)
{
	struct stat st;

	return !lstat(path, &st) && !S_ISREG(st.st_mode);
}

/* 0, or -EEXIST with the sentence set. */
static inline int check_replaceable(const char *path)
{
	return is_irreplaceable(path) ? fail(-EEXIST, "%s exists and is no regular file", path) : 0;
}

#endif
