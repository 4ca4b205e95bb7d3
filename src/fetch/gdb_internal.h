/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One request to a gdb stub and its reply. */
#ifndef HOSTRACE_GDB_INTERNAL_H
#define HOSTRACE_GDB_INTERNAL_H

struct gdb;
struct gdb_parser;

/* 0, or -errno with the error message set. The reply is in gdb_answer() until the next request. */
int gdb_ask(struct gdb *g, const char *text);
const struct gdb_parser *gdb_answer(const struct gdb *g);

const char *gdb_target(const struct gdb *g); /* as it was given to gdb_open() */

#endif
