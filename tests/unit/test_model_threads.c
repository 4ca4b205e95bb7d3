// SPDX-License-Identifier: GPL-2.0-or-later
/* What the model of threads makes of short streams: each test lists the periods of thread 11 that must come out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/kvm.h>

#include "model/threads.h"

enum { T = 11, START_NS = 1000 };

struct fixture {
	struct model model;
	uint64_t ns;
	char periods[512]; /* "running 10, asleep 20, ": state and length of those that have ended */
};

static void period_print(void *arg, struct model_thread *t, uint64_t ns, enum run_state next,
			 const struct event *ev)
{
	static const char *const names[THREAD_STATES] = {"unknown", "running", "preempted",
							 "woken",   "asleep",  "ended"};
	struct fixture *f = arg;
	size_t len = strlen(f->periods);

	(void)next;
	(void)ev;
	if (t->tid == T && ns > t->since_ns)
		snprintf(f->periods + len, sizeof(f->periods) - len, "%s %lu, ", names[t->state],
			 ns - t->since_ns);
}

static void fixture_init(struct fixture *f)
{
	*f = (struct fixture){.ns = START_NS};
	model_init(&f->model,
		   &(struct model_reader){.period = period_print,
				       .arg = f,
				       .thread_size = sizeof(struct model_thread)}, START_NS);
}

static void put(struct fixture *f, uint64_t after_ns, unsigned int id, uint32_t tid,
		const void *record)
{
	struct event ev = {.type = event_type_ours(id), .data = record, .pid = 10, .tid = tid,
			   .vcpu = RECORD_NO_VCPU};

	f->ns += after_ns;
	ev.time_ns = f->ns;
	ev.size = ev.type->size;
	model_event(&f->model, &ev);
}

static void comes(struct fixture *f, uint64_t after_ns)
{
	put(f, after_ns, EV_sched_switch, T, &(struct rec_sched_switch){.next_tid = T});
}

static void leaves(struct fixture *f, uint64_t after_ns, uint64_t state)
{
	put(f, after_ns, EV_sched_switch, T,
	    &(struct rec_sched_switch){.prev_tid = T, .prev_state = state});
}

static void woken(struct fixture *f, uint64_t after_ns)
{
	put(f, after_ns, EV_sched_woken, T, &(struct rec_sched_woken){0});
}

static void wakeup(struct fixture *f, uint64_t after_ns)
{
	put(f, after_ns, EV_sched_wakeup, 99, &(struct rec_sched_wakeup){.wake_tid = T});
}

static void exits(struct fixture *f, uint64_t after_ns)
{
	put(f, after_ns, EV_kvm_exit, T, &(struct rec_kvm_exit){.reason = 12, .isa = 1});
}

static void enters(struct fixture *f, uint64_t after_ns)
{
	put(f, after_ns, EV_kvm_entry, T, &(struct rec_kvm_entry){{0}});
}

static void lost(struct fixture *f, uint64_t after_ns, unsigned int type, uint64_t lasts_ns)
{
	put(f, after_ns, EV_lost, 99,
	    &(struct rec_lost){.lost_event = type, .until = f->ns + after_ns + lasts_ns});
}

/* Ends the stream. */
static void expect(struct fixture *f, const char *periods, unsigned int missing)
{
	model_end(&f->model, f->ns);
	assert_string_equal(f->periods, periods);
	assert_int_equal(f->model.counts.missing, missing);
	model_deinit(&f->model);
}

static void first_expect(const struct fixture *f, enum run_state before, uint64_t first_ns)
{
	const struct model_thread *t = model_thread_find(&f->model, 0, T);

	assert_true(t->is_seen);
	assert_int_equal(t->first_state, before);
	assert_int_equal(t->first_ns, START_NS + first_ns);
}

static void sleeps_and_waits(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	leaves(&f, 10, 1);
	first_expect(&f, THREAD_RUNNING, 10);
	woken(&f, 20);
	wakeup(&f, 5); /* the same wake-up */
	comes(&f, 25);
	leaves(&f, 40, 0);
	wakeup(&f, 1); /* it can run already */
	comes(&f, 49);
	leaves(&f, 60, 0x80); /* it exits */
	put(&f, 70, EV_thread, 99, &(struct rec_thread){.comm = "other"});
	expect(&f,
	       "unknown 10, asleep 20, woken 30, running 40, preempted 50, running 60, "
	       "ended 70, ",
	       0);
}

/* A switch between two threads of a VM comes once, in the one that leaves: the other may have had no event before. */
static void comes_unseen(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	put(&f, 10, EV_sched_switch, 12,
	    &(struct rec_sched_switch){.prev_tid = 12, .next_tid = T});
	leaves(&f, 20, 1);
	first_expect(&f, THREAD_UNKNOWN, 10);
	wakeup(&f, 30);
	expect(&f, "unknown 10, running 20, asleep 30, ", 0);

	/* another task has got the CPU since then: this one's first event is that it leaves the CPU */
	fixture_init(&f);
	put(&f, 10, EV_sched_switch, 12,
	    &(struct rec_sched_switch){.prev_tid = 12, .next_tid = T});
	put(&f, 10, EV_sched_switch, 12,
	    &(struct rec_sched_switch){.prev_tid = 99, .next_tid = 12});
	leaves(&f, 20, 1);
	first_expect(&f, THREAD_RUNNING, 40);
	expect(&f, "unknown 40, ", 0);

	/* events are lost in between */
	fixture_init(&f);
	put(&f, 10, EV_sched_switch, 12,
	    &(struct rec_sched_switch){.prev_tid = 12, .next_tid = T});
	lost(&f, 5, EV_sched_switch, 5);
	leaves(&f, 20, 1);
	expect(&f, "unknown 35, ", 0);
}

/* What it was before its first event: a wake-up shows that it slept, an event of KVM that it ran. */
static void first_events(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	wakeup(&f, 10);
	first_expect(&f, THREAD_ASLEEP, 10);
	comes(&f, 20);
	expect(&f, "unknown 10, woken 20, ", 0);

	fixture_init(&f);
	exits(&f, 10);
	first_expect(&f, THREAD_RUNNING, 10);
	leaves(&f, 20, 1);
	expect(&f, "unknown 10, running 20, ", 0);

	fixture_init(&f);
	comes(&f, 10);
	first_expect(&f, THREAD_UNKNOWN, 10);
	expect(&f, "unknown 10, ", 0);

	fixture_init(&f);
	lost(&f, 5, EV_sched_switch, 1);
	leaves(&f, 5, 1);
	first_expect(&f, THREAD_UNKNOWN, 10);
	expect(&f, "unknown 10, ", 0);
}

/* Woken on the way to sleep: it does not sleep. Later than that, or after an event of its own, it does. */
static void early_wakes(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	comes(&f, 10);
	woken(&f, 30);
	leaves(&f, EARLY_WAKE_NS, 1);
	comes(&f, 40);
	woken(&f, 1);
	leaves(&f, EARLY_WAKE_NS + 1, 1);
	wakeup(&f, 50);
	comes(&f, 60);
	woken(&f, 1);
	enters(&f, 1);
	leaves(&f, 1, 1);
	comes(&f, 70);
	wakeup(&f, 1); /* it comes when the thread is on a run queue: this one went on running */
	leaves(&f, 1, 1);
	comes(&f, 80);
	expect(&f,
	       "unknown 10, running 20030, woken 40, running 20002, asleep 50, woken 60, "
	       "running 3, asleep 70, running 2, asleep 80, ",
	       0);
}

/* The wake-up of a thread that is not known yet, which then shows that it had its CPU all the time. */
static void wake_before_all(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	woken(&f, 10);
	leaves(&f, 20, 1);
	first_expect(&f, THREAD_RUNNING, 10);
	comes(&f, 30);
	expect(&f, "unknown 10, running 20, woken 30, ", 0);
}

static void switches_missing(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	comes(&f, 10);
	comes(&f, 20);
	leaves(&f, 30, 0);
	leaves(&f, 40, 1);
	exits(&f, 50); /* it has no CPU */
	expect(&f, "unknown 10, unknown 20, running 30, unknown 40, unknown 50, ", 3);
}

/* Until its next event after the loss; events within its interval show nothing. */
static void losses(void **state)
{
	struct fixture f;

	(void)state;
	fixture_init(&f);
	comes(&f, 10);
	lost(&f, 20, EV_kvm_pio, 100); /* shows nothing of threads */
	lost(&f, 0, EV_kvm_exit, 0);
	leaves(&f, 10, 1);
	lost(&f, 40, EV_sched_woken, 50);
	comes(&f, 20);
	leaves(&f, 30, 1);
	woken(&f, 10);
	comes(&f, 70);
	put(&f, 80, EV_gap, 99, &(struct rec_gap){.until = f.ns + 90});
	enters(&f, 10);
	enters(&f, 20);
	put(&f, 90, EV_probe_dropped, 99,
	    &(struct rec_probe_dropped){.dropped_event = EV_sched_switch});
	enters(&f, 100);
	expect(&f,
	       "unknown 10, running 30, asleep 40, unknown 60, woken 70, running 80, unknown 30, "
	       "running 90, unknown 100, ",
	       0);
}

static void places(void **state)
{
	const struct model_thread *t;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	exits(&f, 10);
	t = model_thread_find(&f.model, 0, T);
	assert_true(t->place.in_exit && t->place.halts && !t->place.in_vmm);
	assert_int_equal(t->place.exit_ns, START_NS + 10);
	put(&f, 10, EV_kvm_userspace_exit, T, &(struct rec_kvm_userspace_exit){.reason = 2});
	assert_true(t->place.in_exit && t->place.in_vmm);
	lost(&f, 10, EV_sched_switch, 1);
	assert_true(model_place_known(&f.model, t, 0, f.ns));
	lost(&f, 10, EV_kvm_entry, 1);
	assert_false(model_place_known(&f.model, t, 0, f.ns));
	enters(&f, 1);
	assert_false(model_place_known(&f.model, t, 0, f.ns));
	put(&f, 1, EV_kvm_run, T, &(struct rec_kvm_run){{0}});
	assert_true(model_place_known(&f.model, t, 0, f.ns));
	assert_true(t->place.in_exit && !t->place.in_vmm);
	enters(&f, 1);
	assert_true(!t->place.in_exit && !t->place.exit_ns);
	put(&f, 1, EV_gap, 99, &(struct rec_gap){.gap_cpu = 1, .until = f.ns + 10});
	assert_true(model_place_known(&f.model, t, 0, f.ns)); /* where no event is missing */
	assert_false(model_place_known(&f.model, t, 1, f.ns));
	exits(&f, 1);
	assert_true(model_place_known(&f.model, t, 0, f.ns) && t->place.in_exit);
	model_deinit(&f.model);
}

/* What it left its CPU in is known as long as it is off the CPU. */
static void blocks(void **state)
{
	struct rec_sched_block block = {.syscall = 16, .arg1 = KVM_RUN};
	const struct model_thread *t;
	struct fixture f;

	(void)state;
	fixture_init(&f);
	comes(&f, 10);
	t = model_thread_find(&f.model, 0, T);
	put(&f, 1, EV_sched_block, T, &block);
	assert_false(t->block.known);
	leaves(&f, 1, 1);
	put(&f, 1, EV_sched_block, T, &block);
	assert_true(thread_left_in_kvm_run(t) && t->interruptible);
	wakeup(&f, 1);
	assert_true(thread_left_in_kvm_run(t));
	comes(&f, 1);
	leaves(&f, 1, 2);
	assert_false(t->block.known || t->interruptible);
	model_deinit(&f.model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sleeps_and_waits),
		cmocka_unit_test(comes_unseen), cmocka_unit_test(first_events),
		cmocka_unit_test(early_wakes),	    cmocka_unit_test(wake_before_all),
		cmocka_unit_test(switches_missing), cmocka_unit_test(losses),
		cmocka_unit_test(places),	    cmocka_unit_test(blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
