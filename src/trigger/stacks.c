// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A copy of a stack is valid until the thread runs again or the next copy. A thread that sleeps again and again in one
 * place has the same stack each time: their times are added.
 */
#include <errno.h>

#include "base/error.h"
#include "event/records.h"
#include "trigger/watch.h"

/*
 * What the thread of a dump's culprit did meanwhile: the call stack that it had for the longest time, of those that a
 * recording has (sched_holder, sched_stack).
 */

enum {
	STACKS_MAX = 64, /* different ones; the time of others is not counted */
	STACK_BYTES = 1024,
	SHARE = 10, /* of the span, at least a tenth: else it explains nothing */
};

struct stack_time {
	char text[STACK_BYTES];
	uint64_t ns;
};

struct culprit_stacks {
	const struct trigger_culprit *c;
	struct stack_time stack[STACKS_MAX];
	unsigned int nr;
	struct stack_time *last; /* that the thread has; NULL: unknown */
	uint64_t since_ns;
};

struct culprit_stacks *culprit_stacks_new(const struct trigger_culprit *c)
{
	struct culprit_stacks *s = calloc(1, sizeof(*s));

	if (s)
		s->c = c;
	else
		fail(-ENOMEM, "out of memory");
	return s;
}

void culprit_stacks_free(struct culprit_stacks *s)
{
	free(s);
}

/* The last stack has ended; counts what of it was within the culprit. */
static void last_end(struct culprit_stacks *s, uint64_t now_ns)
{
	uint64_t start = s->since_ns > s->c->start_ns ? s->since_ns : s->c->start_ns,
		 end = now_ns < s->c->end_ns ? now_ns : s->c->end_ns;

	if (s->last && start < end)
		s->last->ns += end - start;
	s->last = NULL;
}

/* NULL: there are too many. */
static struct stack_time *stack_find(struct culprit_stacks *s, const char *text)
{
	unsigned int i = 0;

	while (i < s->nr && strcmp(s->stack[i].text, text))
		i++;
	if (i == STACKS_MAX)
		return NULL;
	if (i == s->nr)
		snprintf(s->stack[s->nr++].text, STACK_BYTES, "%s", text);
	return &s->stack[i];
}

static void stack_begin(struct culprit_stacks *s, const struct event *ev)
{
	char text[STACK_BYTES];

	last_end(s, ev->time_ns);
	if (!*record_stack(ev, text, sizeof(text)))
		return;
	s->last = stack_find(s, text);
	s->since_ns = ev->time_ns;
}

static void switch_take(struct culprit_stacks *s, const struct event *ev)
{
	RECORD(sched_switch, r, ev);

	if (r->next_tid == s->c->tid)
		last_end(s, ev->time_ns);
}

void culprit_stacks_event(struct culprit_stacks *s, const struct event *ev)
{
	switch (ev->type->id) {
	case EV_sched_holder:
	case EV_sched_stack:
		if (ev->tid == s->c->tid)
			stack_begin(s, ev);
		break;
	case EV_sched_switch:
		switch_take(s, ev);
		break;
	case EV_lost:
	case EV_gap: /* it may have run again */
		s->last = NULL;
		break;
	}
}

const char *culprit_stacks_longest(struct culprit_stacks *s, uint64_t *ns)
{
	const struct stack_time *longest = NULL;

	last_end(s, s->c->end_ns);
	for (unsigned int i = 0; i < s->nr; i++)
		if (!longest || s->stack[i].ns > longest->ns)
			longest = &s->stack[i];
	if (!longest || longest->ns * SHARE < s->c->end_ns - s->c->start_ns)
		return NULL;
	*ns = longest->ns;
	return longest->text;
}
