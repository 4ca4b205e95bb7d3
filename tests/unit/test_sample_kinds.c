// SPDX-License-Identifier: GPL-2.0-or-later
/* Which states of a thread that leaves its CPU are its end: the kernel's tracepoint has other bits than the task. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "analyzers/profile/samples_internal.h"
#include "event/event.h"

#include <cmocka.h>

static void the_end_of_a_thread(void **state)
{
	const struct event_type guest = {.name = "guest:sched_switch", .size = 64};
	struct sample_rule rule;
	(void)state;

	sample_rule_make(event_type_ours(EV_sched_switch), &rule);
	assert_int_equal(rule.what, WHAT_SWITCH);
	assert_true(0x80 & rule.dead); /* TASK_DEAD */
	assert_false(0x402 & rule.dead);
	sample_rule_make(&guest, &rule);
	assert_int_equal(rule.what, WHAT_SWITCH);
	assert_true(0x20 & rule.dead); /* Z */
	assert_true(0x10 & rule.dead); /* X */
	assert_false(0x80 & rule.dead); /* I: a kernel thread that idles */
	assert_false(0x100 & rule.dead);
}

static void the_end_of_a_thread_in_text(void **state)
{
	static const struct {
		const char *text;
		bool dead, runnable;
	} cases[] = {
		{"prev_comm=a prev_pid=5 prev_state=X ==> next_comm=b", true, false},
		{"prev_comm=a prev_pid=5 prev_state=Z ==> next_comm=b", true, false},
		{"prev_comm=a prev_pid=5 prev_state=I ==> next_comm=b", false, false},
		{"prev_comm=a prev_pid=5 prev_state=D ==> next_comm=b", false, false},
		{"prev_comm=a prev_pid=5 prev_state=R+ ==> next_comm=b", false, true},
	};
	const struct field text = {.name = "text", .kind = FIELD_TEXT, .offset = 32, .size = 96};
	const struct event_type guest = {
		.name = "guest:sched_switch", .size = 128, .fields = &text, .nr_fields = 1};
	struct sample_rule rule;
	(void)state;

	sample_rule_make(&guest, &rule);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t record[128] = {0};
		struct event ev = {.type = &guest, .data = record, .size = sizeof(record)};

		strcpy((char *)record + 32, cases[i].text);
		uint64_t said = sample_u64(&rule, &ev, 1);

		assert_int_equal((said & rule.dead) != 0, cases[i].dead);
		assert_int_equal((said & SAMPLE_STATE_BITS) == 0, cases[i].runnable);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(the_end_of_a_thread),
					   cmocka_unit_test(the_end_of_a_thread_in_text)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
