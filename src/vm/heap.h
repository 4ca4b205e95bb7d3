/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Searches the heap of a process: private anonymous memory, but neither guest memory nor code that it generated. */
#ifndef HOSTRACE_HEAP_H
#define HOSTRACE_HEAP_H

#include "vm/memory.h"

enum { HEAP_ALIGN = 16, HEAP_OVERLAP_MAX = 65536 };

/*
 * Calls fn for each piece of the heap; each contains the first `overlap` bytes of the next one (at most
 * HEAP_OVERLAP_MAX), so that no structure is cut. skip_bytes: the size of guest memory, which is not searched (0:
 * unknown). 0, -ENOMEM with the error message set, or the first error of fn.
 */
int heap_search(const struct memory *m, uint64_t skip_bytes, size_t overlap,
		int (*fn)(void *arg, const uint8_t *bytes, size_t size, uint64_t base), void *arg);

#endif
