// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Distinct backtraces, stored once each. A frame that has only a name (tracefs's text, "hlt exit") gets an
 * address that no machine has: its number in a table of names, plus NAMES_AT, which is a non-canonical address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/profile/samples_internal.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

#define NAMES_AT 0x5a00000000000000ull
enum { PIECE = 1 << 16 }; /* words of memory allocated at a time */

struct piece {
	struct piece *next;
	uint64_t word[PIECE];
};

struct known_name {
	char *text; /* of `name` */
	uint32_t number;
};

struct sample_stacks {
	struct stacks *stacks;
	struct piece *piece;
	size_t used; /* of the newest */
	char **name;
	uint32_t nr_names;
	struct hash_table by_name;
};

int sample_stacks_open(struct sample_stacks **ret)
{
	struct sample_stacks *s = calloc(1, sizeof(*s));
	int err = s ? stacks_open(&s->stacks) : fail(-ENOMEM, "out of memory");

	if (!err) {
		s->by_name = HASH_TABLE_OF_TEXTS(struct known_name, SAMPLES_NAMES_MAX);
		s->used = PIECE;
	}
	if (err)
		sample_stacks_close(s);
	else
		*ret = s;
	return err;
}

void sample_stacks_close(struct sample_stacks *s)
{
	if (!s)
		return;
	stacks_close(s->stacks);
	while (s->piece) {
		struct piece *p = s->piece;

		s->piece = p->next;
		free(p);
	}
	for (uint32_t i = 0; i < s->nr_names; i++)
		free(s->name[i]);
	free(s->name);
	hash_deinit(&s->by_name);
	free(s);
}

static uint64_t *words_alloc(struct sample_stacks *s, unsigned int nr)
{
	if (s->used + nr > PIECE) {
		struct piece *p = malloc(sizeof(*p));

		if (!p)
			return NULL;
		p->next = s->piece;
		s->piece = p;
		s->used = 0;
	}
	s->used += nr;
	return &s->piece->word[s->used - nr];
}

int sample_stacks_set(struct sample_stacks *s, struct sample *to, const uint64_t *address,
		      unsigned int nr)
{
	struct sample given = {.backtrace = (const uint8_t *)address, .nr_backtrace = nr};
	uint32_t number;
	int r = nr ? stacks_number(s->stacks, &given, &number) : 0;

	if (r < 0 || !nr)
		return r;
	if (r) {
		uint64_t *copy = words_alloc(s, nr);

		if (!copy)
			return fail(-ENOMEM, "out of memory");
		memcpy(copy, address, nr * sizeof(*copy));
		stacks_place(s->stacks, number, (const uint8_t *)copy);
	}
	to->backtrace = stacks_raw(s->stacks, number);
	to->nr_backtrace = nr;
	return 0;
}

/* ---- names ---- */

static struct known_name *name_add(struct sample_stacks *s, const char *name)
{
	char *copy = s->nr_names < SAMPLES_NAMES_MAX && !array_room(s->name, s->nr_names)
			     ? strdup(name)
			     : NULL;
	struct known_name *known = copy ? hash_add_text(&s->by_name, copy, NULL) : NULL;

	if (!known) {
		free(copy);
		return NULL;
	}
	s->name[s->nr_names] = copy;
	known->number = ++s->nr_names;
	return known;
}

uint64_t sample_name_address(struct sample_stacks *s, const char *name)
{
	const struct known_name *known = hash_find_text(&s->by_name, name);

	if (!known)
		known = name_add(s, name);
	return known ? NAMES_AT + known->number : 0;
}

const char *sample_address_name(const struct sample_stacks *s, uint64_t address)
{
	return address > NAMES_AT && address - NAMES_AT <= s->nr_names
		       ? s->name[address - NAMES_AT - 1]
		       : NULL;
}
