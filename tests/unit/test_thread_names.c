// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of a guest's threads: from its metadata and from its events. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "event/thread_names.h"

struct record {
	struct record_hdr hdr;
	char text[200];
};

static const struct event_type *type_of(const char *name)
{
	static const struct field text[] = {
		{"text", "text", "", FIELD_TEXT, offsetof(struct record, text), 200},
	};
	const struct event_type *ret = NULL;

	assert_int_equal(event_type_register(&(struct event_type){.name = name,
								  .doc = "",
								  .fields = text,
								  .nr_fields = 1,
								  .size = sizeof(struct record)},
					     &ret),
			 0);
	return ret;
}

static const char *after(struct thread_names *names, const char *type, uint32_t tid,
			 const char *text)
{
	struct record rec = {0};
	struct event ev = {.type = type_of(type), .data = (const void *)&rec, .size = sizeof(rec),
			   .source = 1, .tid = tid, .vcpu = RECORD_NO_VCPU};

	snprintf(rec.text, sizeof(rec.text), "%s", text);
	thread_names_event(names, &ev);
	return thread_comm(names, &ev);
}

static void of_a_guest(void **state)
{
	_cleanup_thread_names_ struct thread_names *names = thread_names_new();
	json_t *meta = json_pack("{s:{s:s, s:s}}", "threads", "7", "told", "8", "init");

	(void)state;
	thread_names_meta(names, 1, meta);
	json_decref(meta);
	after(names, "guest:sched_switch", 1,
	      "prev_comm=init prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=init next_pid=7 "
	      "next_prio=120");
	assert_string_equal(after(names, "guest:x", 7, ""), "told");
	assert_string_equal(after(names, "guest:x", 1, ""), "init");
	/* Its name was saved before it was another one's: the kernel does not always come to save it again. */
	assert_string_equal(after(names, "guest:x", 8, ""), "init");
	assert_string_equal(after(names, "guest:sched_process_exec", 8,
				  "filename=/usr/bin/a_program_of_a_long_name pid=8 old_pid=8"),
			    "a_program_of_a_");
	assert_string_equal(after(names, "guest:sched_switch", 8,
				  "prev_comm=renamed prev_pid=8 prev_prio=120 prev_state=S ==> "
				  "next_comm=x y "
				  "next_pid=9 next_prio=120"),
			    "renamed");
	assert_string_equal(after(names, "guest:x", 9, ""), "x y");
	assert_string_equal(after(names, "guest:sched_process_exec", 9, "nothing of it"), "x y");
	assert_string_equal(
		after(names, "guest:sched_switch", 0, "prev_pid=99999999999 next_pid=0"), "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_guest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
