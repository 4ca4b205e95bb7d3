/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is read through memory. Another process may make it shorter meanwhile: what is beyond its end then raises
 * SIGBUS (mmap(2)). Of these maps, that ends the program with an error message and status 1; files with a temporary
 * name (base/temporary.h) are deleted.
 */
#ifndef HOSTRACE_FILE_MAP_H
#define HOSTRACE_FILE_MAP_H

#include <stddef.h>

/* `len` bytes from the start of the file `path`, read-only. NULL with the error message set. */
void *file_map(int fd, size_t len, const char *path);

/* NULL is fine. */
void file_unmap(void *map, size_t len);

#endif
