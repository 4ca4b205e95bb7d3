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

static uint64_t now_ns;

static struct event event_of(struct record *rec, const char *type, uint32_t tid, const char *text)
{
	*rec = (struct record){0};
	snprintf(rec->text, sizeof(rec->text), "%s", text);
	return (struct event){.type = type_of(type), .data = (const void *)rec,
			      .size = sizeof(*rec), .time_ns = now_ns, .source = 1, .tid = tid,
			      .vcpu = RECORD_NO_VCPU};
}

static const char *after(struct thread_names *names, const char *type, uint32_t tid,
			 const char *text)
{
	struct record rec;
	struct event ev = event_of(&rec, type, tid, text);

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
	assert_string_equal(after(names, "guest:x", 7, ""), "init");
	now_ns++; /* it may have run another program since then */
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

static const char *name_at(struct thread_names *names, uint64_t ns)
{
	now_ns = ns;
	return after(names, "guest:x", 7, "");
}

/* After a look at all events, the name in the metadata is used only where no event is against it. */
static void looked_at(void **state)
{
	static const struct step {
		const char *type, *text;
		const char *at[4]; /* the name at 5, 10 (with the event), 15 */
	} steps[] = {
		{"guest:x", "", {"meta", "meta", "meta"}},
		{"guest:sched_process_exec",
		 "filename=/bin/meta pid=7 old_pid=7",
		 {"", "meta", "meta"}},
		{"guest:sched_process_exec", "filename=/bin/new pid=7", {"", "new", "new"}},
		{"guest:task_rename",
		 "pid=7 oldcomm=old newcomm=meta oom_score_adj=0",
		 {"", "meta", "meta"}},
		{"guest:task_rename",
		 "pid=7 oldcomm=meta newcomm=new oom_score_adj=0",
		 {"meta", "new", "new"}},
		{"guest:task_rename",
		 "pid=7 oldcomm=old newcomm=new oom_score_adj=0",
		 {"", "new", "new"}},
		{"guest:sched_process_fork",
		 "comm=a pid=6 child_comm=a child_pid=7",
		 {"", "a", "a"}},
		{"guest:task_newtask", "pid=7 comm=meta clone_flags=0", {"", "meta", "meta"}},
		{"guest:sched_wakeup", "comm=old pid=7 prio=1 target_cpu=0", {"", "old", "meta"}},
		{"guest:sched_waking",
		 "comm=meta pid=7 prio=1 target_cpu=0",
		 {"meta", "meta", "meta"}},
		{"guest:sched_switch",
		 "prev_comm=old prev_pid=7 prev_prio=1 prev_state=S ==> next_comm=b next_pid=8 "
		 "next_prio=1",
		 {"", "old", "meta"}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		_cleanup_thread_names_ struct thread_names *names = thread_names_new();
		json_t *meta = json_pack("{s:{s:s}}", "threads", "7", "meta");
		struct record rec;

		thread_names_meta(names, 1, meta);
		json_decref(meta);
		now_ns = 10;
		struct event ev = event_of(&rec, steps[i].type, 7, steps[i].text);

		assert_int_equal(thread_names_wants(steps[i].type, NULL), i > 0);
		thread_names_look(names, &ev);
		thread_names_looked(names, 1);
		assert_string_equal(name_at(names, 5), steps[i].at[0]);
		now_ns = 10;
		assert_string_equal(after(names, steps[i].type, 7, steps[i].text), steps[i].at[1]);
		assert_string_equal(name_at(names, 15), steps[i].at[2]);
	}
}

/* A name that is older than the trace; one that a thread has twice. */
static void looked_at_several(void **state)
{
	_cleanup_thread_names_ struct thread_names *names = thread_names_new();
	json_t *meta = json_pack("{s:{s:s}}", "threads", "7", "meta");
	static const char *const became[] = {"one", "two", "meta", "three", "meta"};
	struct record rec;
	struct event ev;

	(void)state;
	thread_names_meta(names, 1, meta);
	json_decref(meta);
	for (now_ns = 10; now_ns <= 50; now_ns += 10) {
		char text[100];

		snprintf(text, sizeof(text), "pid=7 oldcomm=x newcomm=%s", became[now_ns / 10 - 1]);
		ev = event_of(&rec, "guest:task_rename", 7, text);
		thread_names_look(names, &ev);
		if (now_ns == 20) { /* as if the trace ended here */
			assert_string_equal(thread_comm(names, &ev), "");
			ev.time_ns = 5;
			assert_string_equal(thread_comm(names, &ev), "");
			ev.time_ns = 1000;
			assert_string_equal(thread_comm(names, &ev), "");
		}
	}
	thread_names_looked(names, 1);
	for (uint64_t ns = 10; ns <= 50; ns += 10) {
		char text[100];

		assert_string_equal(name_at(names, ns - 5), ns == 10 ? "" : became[ns / 10 - 2]);
		snprintf(text, sizeof(text), "pid=7 oldcomm=x newcomm=%s", became[ns / 10 - 1]);
		assert_string_equal(after(names, "guest:task_rename", 7, text),
				    became[ns / 10 - 1]);
	}
	assert_string_equal(name_at(names, 60), "meta");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_a_guest),
		cmocka_unit_test(looked_at),
		cmocka_unit_test(looked_at_several),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
