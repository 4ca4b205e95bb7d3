/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The metadata of a .hrt file, without its events and their types. */
#ifndef HOSTRACE_TRACEFILE_META_READ_H
#define HOSTRACE_TRACEFILE_META_READ_H

#include <jansson.h>

/*
 * Reads the open file, which is untrusted. `file` names it in errors. 0 and an object (doc/format.md), or -errno with
 * the error message set.
 */
int trace_meta_read(int fd, const char *file, json_t **ret);

#endif
