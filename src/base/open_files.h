/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Descriptors of files that are read several times: a file is opened once, so that all passes read the same one, even
 * if another takes its name meanwhile, and none needs the supervisor of files (confine/) but the first.
 */
#ifndef HOSTRACE_OPEN_FILES_H
#define HOSTRACE_OPEN_FILES_H

struct open_files {
	struct open_file *file;
	unsigned int nr, max;
};

/*
 * A descriptor of the file for reading, which the caller closes; -1: errno has the reason. Those of a regular file
 * share their position: only for pread() and mmap(). NULL: the file is opened anew.
 */
int open_files_get(struct open_files *files, const char *path);
void open_files_close(struct open_files *files);

#endif
