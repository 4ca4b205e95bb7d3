// SPDX-License-Identifier: GPL-2.0-or-later
/* The address of a name is its number in a table, plus NAMES_AT, which is a non-canonical address. */
#include "analyzers/profile/backtraces.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

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
	const char *key; /* of `name` */
	uint32_t number;
};

struct name {
	char *key; /* owned: the name, a separator and its dso; of a name without one the name */
	const char *text, *dso;
};

struct backtraces {
	struct stack *stack;
	uint32_t nr;
	struct hash_index by_hash; /* in `stack` */
	uint64_t beyond; /* the one frame of all backtraces beyond the limits */
	size_t bytes;	 /* of copies */
	struct name *name;
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
	b->beyond = backtrace_address(b, "[beyond the memory limit of backtraces]") + 1;
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
		free(b->name[i].key);
	free(b->name);
	hash_deinit(&b->by_name);
	free(b);
}

static int stack_add(struct backtraces *b, const struct sample *s, uint64_t hash)
{
	if (array_room(b->stack, b->nr))
		return -ENOMEM;
	if (!hash_index_add(&b->by_hash, hash, b->nr))
		return fail(-ENOMEM, "out of memory");
	b->stack[b->nr++] = (struct stack){s->backtrace, s->nr_backtrace, false};
	return 1;
}

/* BACKTRACE_NONE: it is new. */
static uint32_t stack_find(const struct backtraces *b, const struct sample *s, uint64_t hash)
{
	size_t len = 8ul * s->nr_backtrace;
	uint32_t i;

	for (uint64_t probe = 0; (i = hash_index_next(&b->by_hash, hash, &probe)) != HASH_NONE;) {
		const struct stack *x = &b->stack[i];

		if (x->nr == s->nr_backtrace && !memcmp(x->raw, s->backtrace, len))
			return i;
	}
	return BACKTRACE_NONE;
}

int backtrace_number(struct backtraces *b, const struct sample *s, uint32_t *ret)
{
	uint64_t hash = hash_keyed_bytes(s->backtrace, 8ul * s->nr_backtrace);

	*ret = stack_find(b, s, hash);
	if (*ret != BACKTRACE_NONE)
		return 0;
	if (b->nr == BACKTRACES_MAX)
		return 1;
	*ret = b->nr;
	return stack_add(b, s, hash);
}

static int copy_add(struct backtraces *b, struct sample *s, uint64_t hash)
{
	size_t len = 8ul * s->nr_backtrace;
	uint8_t *copy = malloc(len);
	int r;

	if (!copy)
		return fail(-ENOMEM, "out of memory");
	s->backtrace = memcpy(copy, s->backtrace, len);
	r = stack_add(b, s, hash);
	if (r < 0) {
		free(copy);
		return r;
	}
	b->stack[b->nr - 1].is_copy = true;
	b->bytes += len;
	return 0;
}

int backtrace_set(struct backtraces *b, struct sample *to, const uint64_t *address, unsigned int nr)
{
	struct sample s = {.backtrace = (const uint8_t *)address, .nr_backtrace = nr};
	uint64_t hash = hash_keyed_bytes(address, 8ul * nr);
	uint32_t number = nr ? stack_find(b, &s, hash) : BACKTRACE_NONE;
	int err = 0;

	if (!nr)
		return 0;
	if (number != BACKTRACE_NONE)
		s.backtrace = b->stack[number].raw;
	else if (b->nr == BACKTRACES_MAX || b->bytes + 8ul * nr > BACKTRACE_BYTES_MAX)
		s = (struct sample){.backtrace = (const uint8_t *)&b->beyond, .nr_backtrace = 1};
	else
		err = copy_add(b, &s, hash);
	if (err)
		return err;
	to->backtrace = s.backtrace;
	to->nr_backtrace = s.nr_backtrace;
	return 0;
}

/* ---- names ---- */

/* "name", or "name\nDSO", which no sanitized name holds. */
static char *key_make(const char *name, const char *dso)
{
	char *key;

	return asprintf(&key, "%s%s%s", name, dso ? "\n" : "", dso ? dso : "") < 0 ? NULL : key;
}

/* In memory: the key, then the name that it begins with. */
static bool name_fill(struct name *to, const char *key, const char *name, const char *dso)
{
	size_t len = strlen(key) + 1, more = strlen(name) + 1;

	to->key = malloc(len + more);
	if (!to->key)
		return false;
	memcpy(to->key, key, len);
	to->text = memcpy(to->key + len, name, more);
	to->dso = dso ? to->key + more : NULL;
	return true;
}

static struct known_name *name_add(struct backtraces *b, const char *key, const char *name,
				   const char *dso)
{
	struct known_name *known;

	if (b->nr_names == BACKTRACE_NAMES_MAX || array_room(b->name, b->nr_names) ||
	    !name_fill(&b->name[b->nr_names], key, name, dso))
		return NULL;
	known = hash_add_text(&b->by_name, b->name[b->nr_names].key, NULL);
	if (!known) {
		free(b->name[b->nr_names].key);
		return NULL;
	}
	known->number = ++b->nr_names;
	return known;
}

uint64_t backtrace_address_in(struct backtraces *b, const char *name, const char *dso)
{
	_cleanup_free_ char *key = key_make(name, dso);
	const struct known_name *known = key ? hash_find_text(&b->by_name, key) : NULL;

	if (key && !known)
		known = name_add(b, key, name, dso);
	return known ? NAMES_AT + known->number : 0;
}

uint64_t backtrace_address(struct backtraces *b, const char *name)
{
	const struct known_name *known = hash_find_text(&b->by_name, name);

	return known ? NAMES_AT + known->number : backtrace_address_in(b, name, NULL);
}

static const struct name *name_of(const struct backtraces *b, uint64_t address)
{
	return address > NAMES_AT && address - NAMES_AT <= b->nr_names
		       ? &b->name[address - NAMES_AT - 1]
		       : NULL;
}

const char *backtrace_name(const struct backtraces *b, uint64_t address)
{
	const struct name *n = name_of(b, address);

	return n ? n->text : NULL;
}

const char *backtrace_dso(const struct backtraces *b, uint64_t address)
{
	const struct name *n = name_of(b, address);

	return n ? n->dso : NULL;
}
