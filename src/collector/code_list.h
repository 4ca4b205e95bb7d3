/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which code a process and the kernel have mapped now, as entries of a recording's "code_maps" (doc/format.md), by
 * which reports name the addresses of host_stack.
 */
#ifndef HOSTRACE_COLLECTOR_CODE_LIST_H
#define HOSTRACE_COLLECTOR_CODE_LIST_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

enum { CODE_LIST_MAX = 8192 }; /* entries of a recording */

/*
 * Adds the process's files; `again`: except where the list already has code of it. Entries hold from the recording's
 * beginning. Returns how many the list has no space for.
 */
unsigned int code_list_add(json_t *list, pid_t pid, bool again);

/* Adds the kernel and its modules. Nothing: their addresses are hidden from us. */
void code_list_add_kernel(json_t *list);

#endif
