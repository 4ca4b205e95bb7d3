/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_TRACEDAT_H
#define HOSTRACE_TRACEDAT_H

#include "event/reader.h"

/* trace-cmd's trace.dat, of a host or (hint->guest) of a guest, whose times are then raw. */
extern const struct reader_ops tracedat_reader, tracefs_reader;
extern const struct rows_ops tracedat_rows;

/*
 * The kernel's symbols that trace-cmd put into the file, as /proc/kallsyms; not terminated, to be freed; nothing where
 * it has none. `files` keeps the file, or is NULL. 0, or -errno with the error message set.
 */
int tracedat_symbols(const char *path, struct open_files *files, char **ret, size_t *ret_len);

#endif
