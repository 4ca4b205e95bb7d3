// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "commands/live/stuck_stacks.h"
#include "vm/guest_ram.h"

enum { PIECE = 512 };

/* As much of the stack as can be read: it may end before the copy does. */
static void stack_copy_read(const struct memory *m, const struct thread_state *t,
			    struct stack_copy *copy)
{
	*copy = (struct stack_copy){.rip = t->pc, .rsp = t->sp};
	while (copy->bytes + PIECE <= sizeof(copy->stack) &&
	       !memory_read(m, t->sp + copy->bytes, copy->stack + copy->bytes, PIECE))
		copy->bytes += PIECE;
}

void stuck_stacks_read(struct unwinder *u, const struct memory *m, struct stuck_look *l)
{
	_cleanup_free_ struct stack_copy *copy = malloc(sizeof(*copy));

	for (unsigned int i = 0; copy && i < l->nr_threads; i++) {
		struct thread_state *t = &l->thread[i];

		if (!t->sp || !t->pc)
			continue;
		stack_copy_read(m, t, copy);
		unwinder_print(u, copy, t->user_stack, sizeof(t->user_stack));
	}
}
