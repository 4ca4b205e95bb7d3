/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_READERS_H
#define HOSTRACE_READERS_H

struct read_hint;
struct reader;
struct reader_ops;

/* Every reader, tried in this order; ends with NULL. The list itself is in readers.c. */
extern const struct reader_ops *const readers[];

/* Opens a file with the reader whose probe() accepts its first bytes. -ENOENT, -EINVAL (unknown format), ... */
int reader_open(const char *path, const struct read_hint *hint, struct reader **ret);

#endif
