// SPDX-License-Identifier: GPL-2.0-or-later
/* record --trigger: expressions; which spans fulfil them, from records as the collector hands them
 * over. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#undef fail

#include "base/clock.h"
#include "base/error.h"
#include "output/dump_report.h"
#include "trigger/watch.h"

enum { PID = 10, TID = 11, REASON_IO = 2, REASON_HLT = 5 };

/* ---- expressions ---- */

static void expressions(void **state)
{
	static const struct {
		const char *text, *name, *analyzer;
		uint64_t ns;
	} right[] = {{"exit-latency>5ms", "exit-latency", "exit-latency", 5 * NS_PER_MS},
		     {"request-age>1s", "request-age", "virtqueue", NS_PER_S},
		     {" bql-wait > 10ms", "bql-wait", "bql-wait", 10 * NS_PER_MS},
		     {"halt-poll>0.5", "halt-poll", "halt-poll", NS_PER_S / 2},
		     {"vm-end", "vm-end", NULL, 0}};
	struct trigger_expression e;

	(void)state;
	for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
		assert_int_equal(trigger_parse("--trigger", right[i].text, &e), 0);
		assert_string_equal(e.name, right[i].name);
		assert_int_equal(e.min_ns, right[i].ns);
		if (right[i].analyzer)
			assert_string_equal(e.analyzer->name, right[i].analyzer);
		else
			assert_null(e.analyzer);
	}
}

static void wrong_expressions(void **state)
{
	static const char *const wrong[] = {"",
					    ">",
					    "exit-latency",
					    "exit-latency>",
					    "exit-latency>x",
					    "exit-latency>0",
					    "exit-latency>=5ms",
					    "exit-latency<5ms",
					    "mmio>5ms",
					    "exit-pio>1s",
					    "vm-end>1s",
					    "../../etc/passwd>1s",
					    "exit-latency>5ms,",
					    "pair:a,b,tid>1s",
					    "exit-latency>5ms>1s"};
	struct trigger_expression e;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(trigger_parse("--trigger", wrong[i], &e), -EINVAL);
		assert_true(error_is_usage());
	}
	trigger_parse("--trigger", "exit-latncy>5ms", &e);
	assert_non_null(strstr(error_text(), "did you mean 'exit-latency'"));
}

/* ---- spans ---- */

struct seen {
	unsigned int nr;
	struct trigger_culprit last;
};

static void on_trigger(void *arg, const struct trigger_culprit *c)
{
	struct seen *s = arg;

	s->nr++;
	s->last = *c;
}

static struct trigger_expression expression;
static struct seen seen;

static struct trigger_watch *watch_new(const char *text)
{
	struct trigger_watch *w;

	seen = (struct seen){0};
	assert_int_equal(trigger_parse("--trigger", text, &expression), 0);
	w = trigger_watch_new(&expression, 1, on_trigger, &seen);
	assert_non_null(w);
	return w;
}

static void begin(struct trigger_watch *w, uint64_t ns, uint16_t cpu, uint32_t reason)
{
	struct rec_kvm_userspace_exit rec = {
		.hdr = {ns, PID, TID, EV_kvm_userspace_exit, sizeof(rec), cpu, 0},
		.reason = reason};

	assert_int_equal(trigger_watch_record(w, &rec.hdr), 0);
}

static void end(struct trigger_watch *w, uint64_t ns, uint16_t cpu)
{
	struct rec_kvm_run rec = {.hdr = {ns, PID, TID, EV_kvm_run, sizeof(rec), cpu, 0}};

	assert_int_equal(trigger_watch_record(w, &rec.hdr), 0);
}

static void round_at(struct trigger_watch *w, uint64_t ms)
{
	assert_int_equal(trigger_watch_round(w, ms * NS_PER_MS), 0);
}

/* A CPU's records come after another's, though they are older; some belong to the next round. */
static void records_are_put_in_order(void **state)
{
	struct trigger_watch *w = watch_new("userspace-exit>5ms");

	(void)state;
	end(w, 11 * NS_PER_MS, 1);
	end(w, 30 * NS_PER_MS, 1);
	begin(w, 4 * NS_PER_MS, 0, REASON_IO);
	begin(w, 12 * NS_PER_MS, 0, REASON_IO);
	round_at(w, 13);
	assert_int_equal(seen.nr, 1);
	assert_int_equal(seen.last.start_ns, 4 * NS_PER_MS);
	assert_int_equal(seen.last.end_ns, 11 * NS_PER_MS);
	assert_false(seen.last.open);
	assert_string_equal(seen.last.labels, "reason=KVM_EXIT_IO");
	round_at(w, 31);
	assert_int_equal(seen.nr, 2);
	assert_int_equal(seen.last.end_ns, 30 * NS_PER_MS);
	trigger_watch_free(w);
}

/* One that takes long is reported when it becomes too long, and not again. */
static void each_span_triggers_once(void **state)
{
	struct trigger_watch *w = watch_new("userspace-exit>5ms");

	(void)state;
	begin(w, NS_PER_MS, 0, REASON_IO);
	round_at(w, 6);
	assert_int_equal(seen.nr, 0); /* not yet longer than its limit */
	round_at(w, 7);
	assert_int_equal(seen.nr, 1);
	assert_true(seen.last.open);
	round_at(w, 20);
	end(w, 21 * NS_PER_MS, 0);
	round_at(w, 30);
	assert_int_equal(seen.nr, 1);
	begin(w, 31 * NS_PER_MS, 0, REASON_IO);
	end(w, 36 * NS_PER_MS, 0); /* as long as the limit */
	round_at(w, 40);
	assert_int_equal(seen.nr, 1);
	trigger_watch_free(w);
}

static void off_cpu(struct trigger_watch *w, uint64_t ns, bool leaves, int64_t prev_state)
{
	struct rec_sched_switch rec = {
		.hdr = {ns, PID, TID, EV_sched_switch, sizeof(rec), 0, RECORD_NO_VCPU},
		.prev_tid = leaves ? TID : 99,
		.next_tid = leaves ? 99 : TID,
		.prev_state = (uint32_t)prev_state};

	assert_int_equal(trigger_watch_record(w, &rec.hdr), 0);
}

static void the_state_of_a_thread_is_a_word(void **state)
{
	static const struct {
		int64_t prev_state;
		const char *word;
	} states[] = {{0, "state=preempted"},
		      {1, "state=asleep"},
		      {2, "state=asleep, not interruptible"},
		      {4, "state=stopped"},
		      {0x400, "prev_state=0x400"}};
	struct trigger_watch *w = watch_new("sched-out>5ms");

	(void)state;
	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		off_cpu(w, (i * 100 + 1) * NS_PER_MS, true, states[i].prev_state);
		off_cpu(w, (i * 100 + 10) * NS_PER_MS, false, 0);
		round_at(w, i * 100 + 50);
		assert_int_equal(seen.nr, i + 1);
		assert_non_null(strstr(seen.last.labels, states[i].word));
	}
	trigger_watch_free(w);
}

/* ---- the report ---- */

static const char *next_of(const char *name, bool open)
{
	static char buf[DUMP_NEXT_BYTES];
	struct dump_cause cause = {.name = name, .min_ns = 1, .culprit.open = open};

	return dump_next(&cause, buf, sizeof(buf));
}

static void the_next_command_fits_the_trigger(void **state)
{
	(void)state;
	assert_string_equal(next_of("exit-latency", false), "blame --list");
	assert_string_equal(next_of("request-age", true), "leaks");
	assert_string_equal(next_of("virtqueue", false), "list-spans virtqueue");
	assert_string_equal(next_of("sched-out", false), "sched --by task");
	assert_string_equal(next_of("irq-inject", false), "list-spans irq-inject");
	assert_string_equal(next_of("block", true), "list-spans block");
	assert_string_equal(dump_next(&(struct dump_cause){.name = "signal"}, NULL, 0), "exits");
}

static void repeated_triggers_are_one_line(void **state)
{
	struct dump_cause cause = {.name = "exit-latency", .min_ns = 1, .nr_more = 20};
	struct dump_findings d = {.cause = &cause};
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	for (unsigned int i = 0; i < DUMP_MORE_MAX; i++) {
		cause.more[i] = (struct trigger_culprit){
			.tid = i % 8 ? 7 : 8, .end_ns = (i + 1) * NS_PER_MS, .labels = "reason=io"};
		if (i == 5)
			strcpy(cause.more[i].labels, "reason=hlt");
	}
	dump_report_write(&d, "x.hrt", f);
	fclose(f);
	assert_non_null(strstr(text, "20 further triggers until the dump:\n"
				     "  tid 8 up to 9.00ms reason=io, 2 times\n"
				     "  tid 7 up to 16.0ms reason=io, 13 times\n"
				     "  tid 7 6.00ms reason=hlt\n"
				     "  # 4 more\n"));
	free(text);
}

static void halts_do_not_trigger(void **state)
{
	struct trigger_watch *w = watch_new("exit-latency>5ms");

	(void)state;
	begin(w, NS_PER_MS, 0, REASON_HLT);
	round_at(w, 50);
	end(w, 60 * NS_PER_MS, 0);
	round_at(w, 70);
	assert_int_equal(seen.nr, 0);
	trigger_watch_free(w);
}

static void state_is(struct trigger_watch *w, uint64_t ns, bool running)
{
	struct rec_vm_state rec = {
		.hdr = {ns, PID, TID + 1, EV_vm_state, sizeof(rec), 0, RECORD_NO_VCPU},
		.running = running};

	assert_int_equal(trigger_watch_record(w, &rec.hdr), 0);
}

static void a_stopped_vm_does_not_trigger(void **state)
{
	struct trigger_watch *w = watch_new("exit-latency>5ms");

	(void)state;
	begin(w, NS_PER_MS, 0, REASON_IO);
	state_is(w, 2 * NS_PER_MS, false);
	round_at(w, 50);
	state_is(w, 51 * NS_PER_MS, true);
	end(w, 52 * NS_PER_MS, 0);
	round_at(w, 60);
	assert_int_equal(seen.nr, 0);
	begin(w, 61 * NS_PER_MS, 0, REASON_IO);
	round_at(w, 70);
	assert_int_equal(seen.nr, 1);
	trigger_watch_free(w);
}

/* exit-latency is from userspace exits until a kvm_exit shows that it need not be. */
static void fallbacks_count_until_the_event_is_seen(void **state)
{
	struct trigger_watch *w = watch_new("exit-latency>5ms");
	struct rec_kvm_exit rec = {
		.hdr = {40 * NS_PER_MS, PID, TID, EV_kvm_exit, sizeof(rec), 0, 0}, .reason = 30};

	(void)state;
	begin(w, NS_PER_MS, 0, REASON_IO);
	end(w, 10 * NS_PER_MS, 0);
	round_at(w, 20);
	assert_int_equal(seen.nr, 1);
	assert_int_equal(trigger_watch_record(w, &rec.hdr), 0);
	begin(w, 41 * NS_PER_MS, 0, REASON_IO);
	round_at(w, 60);
	assert_int_equal(seen.nr, 2); /* the exit, and not its part in userspace once more */
	assert_int_equal(seen.last.start_ns, 40 * NS_PER_MS);
	trigger_watch_free(w);
}

static void pop(struct trigger_watch *w, uint64_t ns, uint32_t head)
{
	struct rec_virtqueue_pop rec = {
		.hdr = {ns, PID, TID, EV_virtqueue_pop, sizeof(rec), 0, RECORD_NO_VCPU},
		.vq = 0x1000,
		.vdev = 0x2000,
		.head = head};

	assert_int_equal(trigger_watch_record(w, &rec.hdr), 0);
}

static void a_request_that_never_returns(void **state)
{
	struct trigger_watch *w = watch_new("request-age>1s");

	(void)state;
	pop(w, NS_PER_MS, 7);
	for (uint64_t ms = 100; ms <= 1000; ms += 100)
		round_at(w, ms);
	assert_int_equal(seen.nr, 0);
	for (uint64_t ms = 1100; ms <= 3000; ms += 100)
		round_at(w, ms);
	assert_int_equal(seen.nr, 1);
	assert_true(seen.last.open);
	assert_int_equal(seen.last.start_ns, NS_PER_MS);
	trigger_watch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expressions),
		cmocka_unit_test(wrong_expressions),
		cmocka_unit_test(records_are_put_in_order),
		cmocka_unit_test(each_span_triggers_once),
		cmocka_unit_test(the_state_of_a_thread_is_a_word),
		cmocka_unit_test(the_next_command_fits_the_trigger),
		cmocka_unit_test(repeated_triggers_are_one_line),
		cmocka_unit_test(halts_do_not_trigger),
		cmocka_unit_test(a_stopped_vm_does_not_trigger),
		cmocka_unit_test(fallbacks_count_until_the_event_is_seen),
		cmocka_unit_test(a_request_that_never_returns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
