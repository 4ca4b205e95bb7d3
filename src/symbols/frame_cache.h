/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Caches the frames of resolved addresses: the same return addresses are in thousands of different
 * backtraces. It also ensures that an address has the same frames for a whole run (the result of
 * innermost_name() in elf_names.c depends on earlier calls).
 */
#ifndef HOSTRACE_FRAME_CACHE_H
#define HOSTRACE_FRAME_CACHE_H

#include "base/hash.h"
#include "event/sample.h"

struct frame_cache {
	struct hash_table addresses;
};

void frame_cache_init(struct frame_cache *c);
void frame_cache_deinit(struct frame_cache *c);

/* false: not in the cache. */
bool frame_cache_get(const struct frame_cache *c, uint64_t address, struct frame *ret,
		     unsigned int *ret_nr);

/*
 * Stores a copy of the frames of an address not in the cache (the texts remain the caller's), unless memory is short.
 */
void frame_cache_put(struct frame_cache *c, uint64_t address, const struct frame *frame,
		     unsigned int nr);

#endif
