// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "symbols/frame_cache.h"

struct cached_frames {
	uint64_t address;
	struct frame *frame; /* room for one more; NULL: the slot is empty */
	unsigned int nr;
};

static struct cached_frames *slot_of(const struct frame_cache *c, uint64_t address)
{
	uint32_t h = (uint32_t)((address * 0x9e3779b97f4a7c15ull) >> 32);

	while (c->slot[h & c->mask].frame && c->slot[h & c->mask].address != address)
		h++;
	return &c->slot[h & c->mask];
}

bool frame_cache_get(const struct frame_cache *c, uint64_t address, struct frame *ret,
		     unsigned int *ret_nr)
{
	const struct cached_frames *known = c->slot ? slot_of(c, address) : NULL;

	if (!known || !known->frame)
		return false;
	*ret_nr = known->nr;
	memcpy(ret, known->frame, known->nr * sizeof(*ret));
	return true;
}

static bool room(struct frame_cache *c)
{
	struct frame_cache more = {.nr = c->nr, .mask = c->slot ? c->mask * 2 + 1 : 1023};

	if (c->slot && c->nr * 2 < c->mask)
		return true;
	more.slot = c->nr < FRAME_CACHE_MAX ? calloc(more.mask + 1u, sizeof(*more.slot)) : NULL;
	if (!more.slot)
		return false;
	for (uint32_t i = 0; c->slot && i <= c->mask; i++)
		if (c->slot[i].frame)
			*slot_of(&more, c->slot[i].address) = c->slot[i];
	free(c->slot);
	*c = more;
	return true;
}

void frame_cache_put(struct frame_cache *c, uint64_t address, const struct frame *frame,
		     unsigned int nr)
{
	struct frame *copy = room(c) ? calloc(nr + 1u, sizeof(*copy)) : NULL;

	if (!copy)
		return;
	memcpy(copy, frame, nr * sizeof(*copy));
	struct cached_frames *slot = slot_of(c, address);

	c->nr += !slot->frame;
	free(slot->frame);
	*slot = (struct cached_frames){address, copy, nr};
}

void frame_cache_deinit(struct frame_cache *c)
{
	for (uint32_t i = 0; c->slot && i <= c->mask; i++)
		free(c->slot[i].frame);
	free(c->slot);
}
