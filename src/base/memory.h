/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What happens when an allocation fails. The linker directs malloc(), strdup(), asprintf() and the like of hostrace's
 * code to memory.c (ld --wrap in the Makefile; jansson's by json_set_alloc_funcs()), which notes a failure. Code that
 * can report it does so, with its file's name; where the result would only lack something, nothing else is needed: a
 * command with a noted failure completes no file and ends with status 1.
 */
#ifndef HOSTRACE_MEMORY_H
#define HOSTRACE_MEMORY_H

#include <stdbool.h>
#include <stdio.h>

/* Directs jansson's allocations here, and adapts the C library's allocator. */
void memory_init(void);

/* Closes a stream of open_memstream(), NULL if that failed. False: out of memory; *text is NULL then. */
bool memstream_close(FILE *f, char **text);

/* How many allocations have failed? */
unsigned long memory_failures(void);

/* How many there were in this process: HOSTRACE_DEBUG=memory logs it at the end of a command. */
unsigned long memory_allocations(void);

#endif
