/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_READERS_H
#define HOSTRACE_READERS_H

struct reader_ops;

/* Every reader, tried in this order; ends with NULL. The list itself stands in readers.c. */
extern const struct reader_ops *const readers[];

#endif
