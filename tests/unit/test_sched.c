// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What threads did adds up to the time of the trace, and who ran instead to their time without a CPU, whatever the
 * events are: of all recordings among the cases and golden files, and of random streams. Run from the top of the tree.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/sched/sched.h"
#include "event/records.h"
#include "event/reader.h"
#include "readers/readers.h"

struct pass {
	struct sched *sched;
	uint64_t start_ns, last_ns;
	bool ordered, exited;
};

static int put(void *arg, const struct event *ev)
{
	struct pass *p = arg;

	if (!p->sched) {
		p->start_ns = ev->time_ns;
		p->sched = sched_new(ev->time_ns, UINT64_MAX);
		assert_non_null(p->sched);
	}
	if (ev->time_ns < p->last_ns)
		p->ordered = false;
	if (ev->time_ns > p->last_ns)
		p->last_ns = ev->time_ns;
	if (ev->type->id == EV_sched_switch) {
		RECORD(sched_switch, sw, ev);
		p->exited |= (sw->prev_state & 0x80) != 0;
	}
	return sched_event(p->sched, ev);
}

static uint64_t taken_from(const struct sched *s, const struct sched_thread *t)
{
	size_t nr;
	const struct sched_preemptor **all = sched_preemptors(s, &nr);
	uint64_t sum = 0;

	assert_non_null(all);
	for (size_t i = 0; i < nr; i++)
		if (all[i]->thread == t)
			sum += all[i]->time_ns;
	free(all);
	return sum;
}

/* Returns how many threads there were. */
static size_t check(struct pass *p, const char *name)
{
	size_t nr;
	struct sched_thread **all;

	assert_int_equal(sched_end(p->sched, p->last_ns), 0);
	all = sched_threads(p->sched, &nr);
	assert_non_null(all);
	for (size_t i = 0; i < nr; i++) {
		const struct sched_thread *t = all[i];
		uint64_t sum = sched_known_ns(t) + t->time[SCHED_UNKNOWN];

		if (!p->exited && sum != p->last_ns - p->start_ns)
			fail_msg("%s: thread %u: %lu of %lu ns", name, t->tid, sum,
				 p->last_ns - p->start_ns);
		if (p->ordered && !p->exited && taken_from(p->sched, t) != sched_ready_ns(t))
			fail_msg("%s: thread %u was ready for %lu ns, others ran %lu", name, t->tid,
				 sched_ready_ns(t), taken_from(p->sched, t));
	}
	free(all);
	return nr;
}

static size_t threads_of(const char *path)
{
	struct pass p = {.ordered = true};
	struct reader *r;
	size_t nr = 0;

	if (reader_open(path, NULL, &r))
		return 0;
	reader_each(r, put, &p);
	reader_close(r);
	if (p.sched)
		nr = check(&p, path);
	sched_free(p.sched);
	return nr;
}

static void recordings(void **state)
{
	unsigned int with_threads = 0;
	glob_t found;

	(void)state;
	assert_int_equal(glob("tests/cases/*/*", 0, NULL, &found), 0);
	assert_int_equal(glob("tests/golden/*", GLOB_APPEND, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		with_threads += threads_of(found.gl_pathv[i]) > 0;
	globfree(&found);
	print_message("%u recordings with switches\n", with_threads);
	assert_true(with_threads >= 8); /* the files are found, and have switches */
}

/* ---- random streams ---- */

enum { THREADS = 6, CPUS = 3, EVENTS = 20000, STREAMS = 20 };

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state * 0x2545f4914f6cdd1d) >> 32; /* xorshift64*: the low bits are weak */
}

struct machine {
	uint64_t seed, ns;
	unsigned int drops;
	uint32_t on_cpu[CPUS]; /* tasks 1 to 6 are of the VM, others are not */
	enum { ASLEEP, READY, RUNS } is[THREADS + 1];
	struct pass pass;
};

static void emit(struct machine *m, unsigned int id, uint32_t tid, uint32_t cpu, const void *record)
{
	struct event ev = {.type = event_type_ours(id), .data = record, .pid = 1, .tid = tid,
			   .vcpu = RECORD_NO_VCPU, .cpu = (uint16_t)cpu, .time_ns = m->ns};

	ev.size = ev.type->size;
	assert_int_equal(put(&m->pass, &ev), 0);
}

/* The CPU takes a task that is ready, or one of another process. */
static uint32_t task_next(struct machine *m)
{
	uint32_t next = 1 + random_next(&m->seed) % THREADS;

	return m->is[next] == READY ? next : 100 + random_next(&m->seed) % 3;
}

static void cpu_switch(struct machine *m, uint32_t cpu)
{
	static const int32_t calls[] = {271, 202, 74, 16, -1};
	uint32_t prev = m->on_cpu[cpu], next = task_next(m);
	struct rec_sched_switch sw = {.prev_tid = prev, .next_tid = next};
	struct rec_sched_ran ran = {.prev_tid = prev, .next_tid = next};
	bool sleeps = prev <= THREADS && random_next(&m->seed) & 1;

	if (prev == next)
		return;
	m->on_cpu[cpu] = next;
	sw.prev_state = sleeps;
	if (prev > THREADS && next > THREADS) {
		emit(m, EV_sched_ran, 1, cpu, &ran);
		return;
	}
	if (!m->drops || random_next(&m->seed) % m->drops)
		emit(m, EV_sched_switch, prev <= THREADS && prev ? prev : next, cpu, &sw);
	if (next <= THREADS)
		m->is[next] = RUNS;
	if (prev > THREADS || !prev)
		return;
	m->is[prev] = sleeps ? ASLEEP : READY;
	emit(m, EV_sched_block, prev, cpu,
	     &(struct rec_sched_block){.syscall = calls[random_next(&m->seed) % 5]});
}

static void wake(struct machine *m, uint32_t tid)
{
	if (m->is[tid] != ASLEEP)
		return;
	m->is[tid] = READY;
	emit(m, EV_sched_wakeup, 99, 0,
	     &(struct rec_sched_wakeup){.wake_tid = tid,
					.target_cpu = random_next(&m->seed) % CPUS});
}

static void lose(struct machine *m)
{
	emit(m, EV_lost, 1, 0, &(struct rec_lost){.until = m->ns + random_next(&m->seed) % 5000});
}

/* Of every drops switches, about one is not in the trace; 0: all are. */
static void stream(uint64_t seed, unsigned int drops)
{
	struct machine m = {.seed = seed * 0x9e3779b97f4a7c15, .ns = 1000000, .drops = drops,
			    .on_cpu = {100, 101, 102}, .pass.ordered = true};

	for (unsigned int k = 0; k < EVENTS; k++) {
		m.ns += random_next(&m.seed) % 1000;
		if (random_next(&m.seed) & 1)
			cpu_switch(&m, random_next(&m.seed) % CPUS);
		else
			wake(&m, 1 + random_next(&m.seed) % THREADS);
		if (drops && random_next(&m.seed) % 1000 == 0)
			lose(&m);
	}
	assert_int_equal(check(&m.pass, "random"), THREADS);
	assert_int_equal(sched_counts(m.pass.sched)->missing > 0, drops > 0);
	assert_int_equal(sched_counts(m.pass.sched)->losses > 0, drops > 0);
	sched_free(m.pass.sched);
}

static void random_streams(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= STREAMS; i++)
		stream(i, 0);
}

static void random_streams_with_losses(void **state)
{
	(void)state;
	for (uint64_t i = 1; i <= STREAMS; i++)
		stream(i, 2 + i % 50);
}
int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(random_streams_with_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
