// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the holder of the global mutex does while others wait for it, from copies of its call stack (sched_holder). A
 * stack is valid from its event until the next one or until the mutex has another owner; the first one of a hold also
 * explains the part that it is in.
 */

#include "analyzers/blame/internal.h"
#include "base/array.h"
#include "event/records.h"

struct stack_entry {
	const char *text; /* its key */
	uint32_t id;
};

/* The id of this text; 0: none, or too many. */
static uint32_t stack_id(struct blame *b, const char *text)
{
	struct stack_entry *e = *text ? hash_find_text(&b->stacks, text) : NULL;
	char *copy;

	if (e || !*text)
		return e ? e->id : 0;
	copy = array_room(b->stack, b->nr_stacks) ? NULL : strdup(text);
	e = copy ? hash_add_text(&b->stacks, copy, NULL) : NULL;
	if (!e) {
		free(copy);
		return 0;
	}
	b->stack[b->nr_stacks++] = copy;
	e->id = b->nr_stacks;
	return e->id;
}

const char *blame_stack(const struct blame *b, uint32_t id)
{
	return id && id <= b->nr_stacks ? b->stack[id - 1] : NULL;
}

void holder_event(struct blame *b, struct thread *t, const struct event *ev)
{
	RECORD(sched_holder, r, ev);
	char text[STACK_TEXT_BYTES];
	uint32_t id = 0;

	if (record_has(ev, sched_holder, stack) &&
	    !losses_cover(&b->model.losses, LOST_STACKS, ev->time_ns))
		id = stack_id(b, RECORD_TEXT(r, stack, text));
	owner_set(b, t->vm, (struct owner){OWNER_HELD, t, t->ns_tid}, ev->time_ns);
	if (r->sampled) {
		if (!t->stack)
			t->stack = id;
		owner_changes(b, t, ev->time_ns);
	} /* else the part has just begun: it left the CPU */
	t->stack = id;
}

void holder_init(struct blame *b)
{
	b->stacks = HASH_TABLE_OF_TEXTS(struct stack_entry, STACKS_MAX);
}

void holder_deinit(struct blame *b)
{
	hash_deinit(&b->stacks);
	for (uint32_t i = 0; i < b->nr_stacks; i++)
		free(b->stack[i]);
	free(b->stack);
}
