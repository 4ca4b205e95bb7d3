/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_STREAM_READER_H
#define HOSTRACE_STREAM_READER_H

#include "event/reader.h"

/* Files with a guest stream (stream.h). */
extern const struct reader_ops stream_reader;

/*
 * The guest's kernel symbols in it, as lines of kallsyms: *ret is allocated, NULL and 0 if it has none. `files`
 * keeps the file, or is NULL. 0 or -errno with the error message set.
 */
int stream_symbols(const char *path, struct open_files *files, char **ret, size_t *ret_len);

#endif
