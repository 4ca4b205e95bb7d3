// SPDX-License-Identifier: GPL-2.0-or-later
/* The address of a name is its number in a table, plus NAMES_AT, which is a non-canonical address. */
#include "analyzers/profile/backtraces.h"

#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

#define NAMES_AT 0x5a00000000000000ull

struct stack {
	const uint8_t *raw; /* nr addresses */
	uint32_t nr;
	bool is_copy;
};

struct known_name {
	char *text; /* of `name` */
	uint32_t number;
};

struct backtraces {
	struct stack *stack;
	uint32_t nr;
	struct hash_index by_hash; /* in `stack` */
	char **name;
	uint32_t nr_names;
	struct hash_table by_name;
};

int backtraces_open(struct backtraces **ret)
{
	struct backtraces *b = calloc(1, sizeof(*b));

	if (!b)
		return fail(-ENOMEM, "out of memory");
	b->by_hash = HASH_INDEX(BACKTRACES_MAX);
	b->by_name = HASH_TABLE_OF_TEXTS(struct known_name, BACKTRACE_NAMES_MAX);
	*ret = b;
	return 0;
}

void backtraces_close(struct backtraces *b)
{
	if (!b)
		return;
	for (uint32_t i = 0; i < b->nr; i++)
		if (b->stack[i].is_copy)
			free((void *)b->stack[i].raw);
	free(b->stack);
	hash_index_deinit(&b->by_hash);
	for (uint32_t i = 0; i < b->nr_names; i++)
		free(b->name[i]);
	free(b->name);
	hash_deinit(&b->by_name);
	free(b);
}

static int stack_add(struct backtraces *b, const struct sample *s, uint64_t hash)
{
	if (b->nr == BACKTRACES_MAX)
		return fail(-E2BIG, "more than %d different backtraces", BACKTRACES_MAX);
	if (array_room(b->stack, b->nr))
		return -ENOMEM;
	if (!hash_index_add(&b->by_hash, hash, b->nr))
		return fail(-ENOMEM, "out of memory");
	b->stack[b->nr++] = (struct stack){s->backtrace, s->nr_backtrace, false};
	return 1;
}

int backtrace_number(struct backtraces *b, const struct sample *s, uint32_t *ret)
{
	size_t len = 8ul * s->nr_backtrace;
	uint64_t hash = hash_keyed_bytes(s->backtrace, len);

	for (uint64_t probe = 0;
	     (*ret = hash_index_next(&b->by_hash, hash, &probe)) != HASH_NONE;) {
		const struct stack *x = &b->stack[*ret];

		if (x->nr == s->nr_backtrace && !memcmp(x->raw, s->backtrace, len))
			return 0;
	}
	*ret = b->nr;
	return stack_add(b, s, hash);
}

int backtrace_set(struct backtraces *b, struct sample *to, const uint64_t *address, unsigned int nr)
{
	struct sample given = {.backtrace = (const uint8_t *)address, .nr_backtrace = nr};
	uint32_t number;
	int r = nr ? backtrace_number(b, &given, &number) : 0;

	if (r < 0 || !nr)
		return r;
	if (r) {
		uint8_t *copy = malloc(nr * sizeof(*address));

		if (!copy) {
			b->stack[number].nr = 0; /* it is found by no sample */
			return fail(-ENOMEM, "out of memory");
		}
		memcpy(copy, address, nr * sizeof(*address));
		b->stack[number] = (struct stack){copy, nr, true};
	}
	to->backtrace = b->stack[number].raw;
	to->nr_backtrace = nr;
	return 0;
}

/* ---- names ---- */

static struct known_name *name_add(struct backtraces *b, const char *name)
{
	char *copy = b->nr_names < BACKTRACE_NAMES_MAX && !array_room(b->name, b->nr_names)
			     ? strdup(name)
			     : NULL;
	struct known_name *known = copy ? hash_add_text(&b->by_name, copy, NULL) : NULL;

	if (!known) {
		free(copy);
		return NULL;
	}
	b->name[b->nr_names] = copy;
	known->number = ++b->nr_names;
	return known;
}

uint64_t backtrace_address(struct backtraces *b, const char *name)
{
	const struct known_name *known = hash_find_text(&b->by_name, name);

	if (!known)
		known = name_add(b, name);
	return known ? NAMES_AT + known->number : 0;
}

const char *backtrace_name(const struct backtraces *b, uint64_t address)
{
	return address > NAMES_AT && address - NAMES_AT <= b->nr_names
		       ? b->name[address - NAMES_AT - 1]
		       : NULL;
}
