// SPDX-License-Identifier: GPL-2.0-or-later
/* A table of copies, by address. */
#include "symbols/frame_cache.h"

#include <stdlib.h>
#include <string.h>

enum { FRAME_CACHE_MAX = 1 << 20 /* addresses; further ones are resolved each time */ };

struct cached_frames {
	uint64_t address;
	struct frame *frame;
	unsigned int nr;
};

void frame_cache_init(struct frame_cache *c)
{
	c->addresses = HASH_TABLE(struct cached_frames, 1, FRAME_CACHE_MAX);
}

bool frame_cache_get(const struct frame_cache *c, uint64_t address, struct frame *ret,
		     unsigned int *ret_nr)
{
	const struct cached_frames *known = hash_find_u64(&c->addresses, address);

	if (!known)
		return false;
	*ret_nr = known->nr;
	memcpy(ret, known->frame, known->nr * sizeof(*ret));
	return true;
}

void frame_cache_put(struct frame_cache *c, uint64_t address, const struct frame *frame,
		     unsigned int nr)
{
	struct frame *copy = calloc(nr + 1u, sizeof(*copy));
	struct cached_frames *entry =
		copy ? hash_add_u64(&c->addresses, address, NULL) : NULL;

	if (!entry) {
		free(copy);
		return;
	}
	memcpy(copy, frame, nr * sizeof(*copy));
	free(entry->frame);
	entry->frame = copy;
	entry->nr = nr;
}

void frame_cache_deinit(struct frame_cache *c)
{
	const struct cached_frames *entry;

	for (uint32_t at = 0; (entry = hash_next(&c->addresses, &at));)
		free(entry->frame);
	hash_deinit(&c->addresses);
}
