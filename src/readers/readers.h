/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_READERS_H
#define HOSTRACE_READERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct open_files;
struct read_hint;
struct reader;
struct reader_ops;

/* Every reader, tried in this order; ends with NULL. The list itself is in readers.c. */
extern const struct reader_ops *const readers[];

/* Opens a file with the reader whose probe() accepts its first bytes. -ENOENT, -EINVAL (unknown format), ... */
int reader_open(const char *path, const struct read_hint *hint, struct reader **ret);

/*
 * Which reader's probe() accepts them, of a file that `files` keeps or NULL, once for each file; for a directory, which
 * can read it. 0 or -errno with the error message set.
 */
int reader_recognize(const char *path, struct open_files *files, const struct reader_ops **ret);

/*
 * Is it what another tool wrote and no reader reads (other_formats.c)? -EMEDIUMTYPE (a table of counts, see
 * readers/text/tool_table.h) or -EINVAL with an error message that says what it is and what to do; 0: it is not known.
 */
int other_format_refuse(const char *path, struct open_files *files, const uint8_t *head,
			size_t len);

/* Is there such a file in the directory? */
bool directory_holds(const char *directory, const char *name);

#endif
