/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that is read through memory. Another process may make it shorter meanwhile: what is beyond its end then raises
 * SIGBUS (mmap(2)). After file_map_init(), that ends the program with an error message and status 1, for these maps;
 * files with a temporary name (base/temporary.h) are deleted.
 */
#ifndef HOSTRACE_FILE_MAP_H
#define HOSTRACE_FILE_MAP_H

#include <stddef.h>

/* Handles SIGBUS from now on. For main(): a library leaves signals to its program. */
void file_map_init(void);

/* `len` bytes from the start of the file `path`, read-only. NULL with the error message set. */
void *file_map(int fd, size_t len, const char *path);

/* NULL is fine. */
void file_unmap(void *map, size_t len);

#endif
