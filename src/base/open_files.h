/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors of files that are read several times: a file is opened once, so that all passes read the same one, even
 * if another takes its name meanwhile, and none needs the supervisor of files (confine/) but the first.
 */
#ifndef HOSTRACE_OPEN_FILES_H
#define HOSTRACE_OPEN_FILES_H

#include <stdint.h>
#include <stdio.h>

struct reader_ops;

struct open_files {
	struct open_file *file;
	unsigned int nr, max;
};

/*
 * A descriptor of the file for reading, which the caller closes; -1: errno has the reason. Those of a regular file
 * share their position: only for pread() and mmap(). NULL: the file is opened anew.
 */
int open_files_get(struct open_files *files, const char *path);

/* The same as a stream, which has a position of its own; NULL: errno has the reason. */
FILE *open_files_stream(struct open_files *files, const char *path);

/*
 * The same, a regular file in memory, read-only (base/file_map.h); *ret is NULL if it is empty. 0 or -errno with the
 * error message set.
 */
int open_files_map(struct open_files *files, const char *path, uint8_t **ret, uint64_t *ret_bytes);

/* Where reader_open() notes which reader recognized the file; NULL: it is not kept. Valid until the next get. */
const struct reader_ops **open_files_format(const struct open_files *files, const char *path);

void open_files_close(struct open_files *files);

#endif
