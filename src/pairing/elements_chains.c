// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The elements in flight of a device, of a queue by its number, and of a VirtQueue: what a reset or a rewind ends is
 * found without looking at those of others. Each element is in three lists, in order of its pop; a list exists while it
 * has elements.
 */
#include "pairing/elements_private.h"

struct chain {
	uint64_t key[3];
	uint32_t oldest, newest; /* numbers of elements */
};

struct hash_table element_chains_table(void)
{
	return HASH_TABLE(struct chain, 3, CHAINS * ELEMENTS_MAX);
}

static void key_make(enum element_chain which, uint32_t pid, uint64_t address, uint32_t queue,
		     uint64_t key[3])
{
	key[0] = (uint64_t)which << 32 | pid;
	key[1] = address;
	key[2] = which == CHAIN_QUEUE ? queue : 0;
}

static struct chain *chain_of(const struct elements *e, const struct open_element *o,
			      enum element_chain which, uint64_t key[3])
{
	key_make(which, o->pid, which == CHAIN_VQ ? o->vq : o->vdev, o->queue, key);
	return hash_find_words(&e->chains, key);
}

static void append(struct elements *e, struct open_element *o, enum element_chain which)
{
	uint64_t key[3];
	struct chain *c = chain_of(e, o, which, key);
	struct chain_link *link = &o->link[which];

	if (!c)
		c = hash_add_words(&e->chains, key, NULL);
	*link = (struct chain_link){.older = c ? c->newest : 0, .on = c};
	if (!c)
		return; /* out of memory: a reset will not end it */
	if (link->older)
		open_numbered(&e->open, link->older, struct open_element)->link[which].newer =
			o->begin.number;
	else
		c->oldest = o->begin.number;
	c->newest = o->begin.number;
}

static void unlink_from(struct elements *e, struct open_element *o, enum element_chain which)
{
	const struct chain_link *link = &o->link[which];
	uint64_t key[3];
	struct chain *c = link->older && link->newer ? NULL : chain_of(e, o, which, key);

	if (!link->on)
		return;
	if (link->older)
		open_numbered(&e->open, link->older, struct open_element)->link[which].newer =
			link->newer;
	else
		c->oldest = link->newer;
	if (link->newer)
		open_numbered(&e->open, link->newer, struct open_element)->link[which].older =
			link->older;
	else
		c->newest = link->older;
	if (c && !c->oldest)
		hash_remove(&e->chains, c);
}

void element_chains_add(struct elements *e, struct open_element *o)
{
	for (unsigned int i = 0; i < CHAINS; i++)
		append(e, o, i);
}

void element_chains_remove(struct elements *e, struct open_element *o)
{
	for (unsigned int i = 0; i < CHAINS; i++)
		unlink_from(e, o, i);
}

struct open_element *element_chain_end(const struct elements *e, enum element_chain which,
				       uint32_t pid, uint64_t address, uint32_t queue, bool newest)
{
	const struct chain *c;
	uint64_t key[3];

	key_make(which, pid, address, queue, key);
	c = hash_find_words(&e->chains, key);
	return c ? open_numbered(&e->open, newest ? c->newest : c->oldest, struct open_element)
		 : NULL;
}
