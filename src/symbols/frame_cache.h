/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an address was resolved to, kept: the same return addresses stand in thousands of different
 * backtraces. An address has one answer for a whole run (see innermost_name() in elf_names.c, whose
 * answer depends on what was asked before).
 */
#ifndef HOSTRACE_FRAME_CACHE_H
#define HOSTRACE_FRAME_CACHE_H

#include "symbols/symbols.h"

enum { FRAME_CACHE_MAX = 1 << 20 /* addresses; more are not kept */ };

struct frame_cache {
	struct cached_frames *slot; /* open-addressed by address */
	uint32_t nr, mask;
};

/* false: not known yet. */
bool frame_cache_get(const struct frame_cache *c, uint64_t address, struct frame *ret,
		     unsigned int *ret_nr);
/* Keeps a copy of the frames (their texts stay the caller's); without memory it does not. */
void frame_cache_put(struct frame_cache *c, uint64_t address, const struct frame *frame,
		     unsigned int nr);
void frame_cache_deinit(struct frame_cache *c);

#endif
