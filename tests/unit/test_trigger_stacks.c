// SPDX-License-Identifier: GPL-2.0-or-later
/* The call stack that a culprit's thread had for the longest time within its span. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/clock.h"
#include "trigger/watch.h"

enum { TID = 11, OTHER = 12 };

static struct trigger_culprit culprit;
static struct culprit_stacks *stacks;

static void begin(uint64_t start_ms, uint64_t end_ms, bool open)
{
	culprit = (struct trigger_culprit){.start_ns = start_ms * NS_PER_MS,
					   .end_ns = end_ms * NS_PER_MS,
					   .open = open,
					   .tid = TID};
	stacks = culprit_stacks_new(&culprit);
	assert_non_null(stacks);
}

static void put(uint64_t ms, uint32_t tid, uint16_t id, const void *rec, size_t size)
{
	struct event ev = {.time_ns = ms * NS_PER_MS,
			   .type = event_type_ours(id),
			   .data = rec,
			   .size = (uint16_t)size,
			   .tid = tid,
			   .vcpu = RECORD_NO_VCPU};

	culprit_stacks_event(stacks, &ev);
}

static void stack(uint64_t ms, uint32_t tid, const char *text)
{
	struct rec_sched_holder rec = {.nr = 1};

	snprintf(rec.stack, sizeof(rec.stack), "%s", text);
	put(ms, tid, EV_sched_holder, &rec, sizeof(rec));
}

static void runs(uint64_t ms, uint32_t tid)
{
	struct rec_sched_switch rec = {.next_tid = tid};

	put(ms, OTHER, EV_sched_switch, &rec, sizeof(rec));
}

/* stack: NULL: none. */
static void assert_longest(const char *stack, uint64_t ms)
{
	uint64_t ns = 0;
	const char *longest = culprit_stacks_longest(stacks, &ns);

	if (stack) {
		assert_string_equal(longest, stack);
		assert_int_equal(ns, ms * NS_PER_MS);
	} else {
		assert_null(longest);
	}
	culprit_stacks_free(stacks);
}

/* A thread that sleeps again and again in one place; other threads' stacks; what is outside the span. */
static void the_longest_in_sum(void **state)
{
	(void)state;
	begin(100, 200, false);
	stack(90, TID, "short;main"); /* 5 ms within the span */
	runs(105, TID);
	stack(110, OTHER, "other;main");
	stack(120, TID, "once;main"); /* 25 ms */
	runs(130, OTHER);
	runs(145, TID);
	for (uint64_t ms = 150; ms < 190; ms += 10) { /* 32 ms in steps of 8 */
		stack(ms, TID, "sleep;poll;main");
		runs(ms + 8, TID);
	}
	stack(195, TID, "once;main"); /* 5 ms */
	runs(300, TID);
	assert_longest("sleep;poll;main", 32);
}

/* It lasts until the trigger, not until the dump. */
static void one_that_has_not_ended(void **state)
{
	(void)state;
	begin(100, 200, true);
	stack(150, TID, "sleep");
	runs(900, TID);
	assert_longest("sleep", 50);
	begin(100, 200, true);
	stack(150, TID, "sleep");
	assert_longest("sleep", 50);
}

static void none(void **state)
{
	struct rec_lost lost = {.count = 1};

	(void)state;
	begin(100, 200, false);
	assert_longest(NULL, 0);
	begin(100, 200, false);
	stack(110, OTHER, "sleep");
	stack(120, TID, ""); /* could not be unwound */
	stack(250, TID, "later");
	assert_longest(NULL, 0);
	begin(100, 200, false); /* it does not explain the span */
	stack(110, TID, "sleep");
	runs(119, TID);
	assert_longest(NULL, 0);
	begin(100, 200, false); /* it may have run again */
	stack(110, TID, "sleep");
	put(120, TID, EV_lost, &lost, sizeof(lost));
	assert_longest(NULL, 0);
}

/* Different ones beyond the limit are not counted. */
static void many(void **state)
{
	char text[32];

	(void)state;
	begin(0, 2000, false);
	for (unsigned int i = 0; i < 200; i++) {
		snprintf(text, sizeof(text), "f%u", i);
		stack(10 * i, TID, i % 2 ? "often" : text);
		runs(10 * i + 5, TID);
	}
	assert_longest("often", 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_longest_in_sum),
		cmocka_unit_test(one_that_has_not_ended),
		cmocka_unit_test(none),
		cmocka_unit_test(many),
	};

	return cmocka_run_group_tests_name("trigger stacks", tests, NULL, NULL);
}
