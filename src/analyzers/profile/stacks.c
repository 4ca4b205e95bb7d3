// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "analyzers/profile/stacks.h"
#include "base/array.h"
#include "base/error.h"
#include "base/hash.h"

struct stack {
	const uint8_t *raw; /* nr addresses in the mapped trace */
	uint32_t nr;
};

struct stacks {
	struct stack *stack;
	uint32_t nr;
	struct hash_index by_hash; /* in `stack` */
};

int stacks_open(struct stacks **ret)
{
	_cleanup_(stacks_cleanup_) struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->by_hash = HASH_INDEX(STACKS_MAX);
	*ret = take_ptr(s);
	return 0;
}

void stacks_close(struct stacks *s)
{
	if (!s)
		return;
	free(s->stack);
	hash_index_deinit(&s->by_hash);
	free(s);
}

static int stack_add(struct stacks *s, const struct sample *sample, uint64_t hash, uint32_t *ret)
{
	if (s->nr == STACKS_MAX)
		return fail(-E2BIG, "more than %d different backtraces", STACKS_MAX);
	if (array_room(s->stack, s->nr))
		return -ENOMEM;
	if (!hash_index_add(&s->by_hash, hash, s->nr))
		return fail(-ENOMEM, "out of memory");
	s->stack[s->nr] = (struct stack){sample->backtrace, sample->nr_backtrace};
	*ret = s->nr++;
	return 1;
}

int stacks_number(struct stacks *s, const struct sample *sample, uint32_t *ret)
{
	size_t len = 8ul * sample->nr_backtrace;
	uint64_t hash = hash_keyed_bytes(sample->backtrace, len);
	uint32_t i;

	for (uint64_t probe = 0; (i = hash_index_next(&s->by_hash, hash, &probe)) != HASH_NONE;) {
		const struct stack *x = &s->stack[i];

		if (x->nr == sample->nr_backtrace && !memcmp(x->raw, sample->backtrace, len)) {
			*ret = i;
			return 0;
		}
	}
	return stack_add(s, sample, hash, ret);
}

void stacks_place(struct stacks *s, uint32_t number, const uint8_t *raw)
{
	s->stack[number].raw = raw;
}

const uint8_t *stacks_raw(const struct stacks *s, uint32_t number)
{
	return s->stack[number].raw;
}
