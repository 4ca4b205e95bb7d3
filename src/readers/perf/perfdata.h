/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_PERFDATA_H
#define HOSTRACE_PERFDATA_H

#include "event/reader.h"

extern const struct reader_ops perfdata_reader;

/*
 * Are these the first bytes of records without a head, as those of data.0 in a directory of perf record --threads?
 * -EINVAL with the error message set; 0: they are not.
 */
int perfdata_part_refuse(const char *path, const uint8_t *head, size_t len);

/* The kernel's symbols, as text like /proc/kallsyms, which the caller frees; NULL and 0: it has none. */
int perfdata_symbols(const char *path, struct open_files *files, char **ret, size_t *ret_len);

#endif
