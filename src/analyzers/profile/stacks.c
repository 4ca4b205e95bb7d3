// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "analyzers/profile/stacks.h"
#include "base/array.h"
#include "base/error.h"

struct stack {
	uint64_t hash;
	const uint8_t *raw; /* nr addresses in the mapped trace */
	uint32_t nr;
};

struct stacks {
	struct stack *stack;
	uint32_t nr, *slot, mask; /* slot: number + 1, 0 empty */
};

int stacks_open(struct stacks **ret)
{
	_cleanup_(stacks_cleanup_) struct stacks *s = calloc(1, sizeof(*s));

	if (!s)
		return fail(-ENOMEM, "out of memory");
	s->mask = 4095;
	s->slot = calloc(s->mask + 1u, sizeof(*s->slot));
	if (!s->slot)
		return fail(-ENOMEM, "out of memory");
	*ret = take_ptr(s);
	return 0;
}

void stacks_close(struct stacks *s)
{
	if (!s)
		return;
	free(s->stack);
	free(s->slot);
	free(s);
}

static uint64_t hash_of(const uint8_t *raw, uint32_t nr)
{
	uint64_t h = nr, word;

	for (uint32_t i = 0; i < nr; i++) {
		memcpy(&word, raw + 8ull * i, 8);
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

static int grow_slots(struct stacks *s)
{
	uint32_t mask = s->mask * 2 + 1;
	uint32_t *slot = calloc(mask + 1u, sizeof(*slot));

	if (!slot)
		return fail(-ENOMEM, "out of memory");
	for (uint32_t n = 0; n < s->nr; n++) {
		uint32_t i = (uint32_t)s->stack[n].hash;

		while (slot[i & mask])
			i++;
		slot[i & mask] = n + 1;
	}
	free(s->slot);
	s->slot = slot;
	s->mask = mask;
	return 0;
}

static int stack_add(struct stacks *s, const struct stack *new, uint32_t *slot)
{
	if (s->nr == STACKS_MAX)
		return fail(-E2BIG, "more than %d different backtraces", STACKS_MAX);
	if (array_room(s->stack, s->nr))
		return -ENOMEM;
	s->stack[s->nr] = *new;
	*slot = ++s->nr;
	return s->nr * 2 > s->mask ? grow_slots(s) : 0;
}

int stacks_number(struct stacks *s, const struct sample *sample, uint32_t *ret)
{
	struct stack new = {hash_of(sample->backtrace, sample->nr_backtrace), sample->backtrace,
			    sample->nr_backtrace};

	for (uint32_t i = (uint32_t)new.hash;; i++) {
		uint32_t *slot = &s->slot[i & s->mask];

		if (!*slot) {
			*ret = s->nr;
			int err = stack_add(s, &new, slot);

			return err ? err : 1;
		}
		const struct stack *known = &s->stack[*slot - 1];

		if (known->hash == new.hash && known->nr == new.nr &&
		    !memcmp(known->raw, new.raw, 8ull * new.nr)) {
			*ret = *slot - 1;
			return 0;
		}
	}
}

void stacks_place(struct stacks *s, uint32_t number, const uint8_t *raw)
{
	s->stack[number].raw = raw;
}

const uint8_t *stacks_raw(const struct stacks *s, uint32_t number)
{
	return s->stack[number].raw;
}
