// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The parts of every exit are adjacent and add up to its length, whatever the events are: of all recordings among the
 * cases and golden files, and of random streams. Run from the top of the source tree. With a path in $RECORDING: of
 * this one only; the live tests do so with what they have recorded.
 */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyzers/blame/summary.h"
#include "readers/readers.h"
#include "event/reader.h"

struct seen {
	const char *file;
	uint64_t exits, parts, time_ns, restarts;
	uint64_t causes[BLAME_CAUSES];
};

static int check_exit(void *arg, const struct blame_exit *x)
{
	uint64_t at = x->start_ns, sum = 0, causes[BLAME_CAUSES] = {0};
	struct seen *s = arg;

	for (unsigned int i = 0; i < x->nr_parts; i++) {
		const struct blame_part *p = &x->part[i];

		if (p->start_ns != at || p->end_ns <= at || p->cause >= BLAME_CAUSES)
			fail_msg("%s: part %u of the exit at %lu ns begins at %lu, not %lu",
				 s->file, i, x->start_ns, p->start_ns, at);
		at = p->end_ns;
		causes[p->cause] += p->end_ns - p->start_ns;
	}
	for (unsigned int i = 0; i < BLAME_CAUSES; i++) {
		assert_int_equal(causes[i], x->causes[i]);
		s->causes[i] += causes[i];
		sum += causes[i];
	}
	assert_int_equal(at, x->end_ns);
	assert_int_equal(sum, x->end_ns - x->start_ns);
	s->exits++;
	s->parts += x->nr_parts;
	s->time_ns += sum;
	return 0;
}

static void restart(void *arg)
{
	((struct seen *)arg)->exits = 0;
	((struct seen *)arg)->restarts++;
}

static struct blame *blame_of(struct seen *s)
{
	struct blame_sink sink = {.ended = check_exit, .restart = restart, .arg = s};
	struct blame *b = blame_new(&sink);

	assert_non_null(b);
	return b;
}

/* ---- recordings ---- */

static int put(void *arg, const struct event *ev)
{
	return blame_event(arg, ev);
}

/* 0 if the file cannot be read: some are broken. `foreign`: as a trace of another tool. */
static uint64_t exits_read(const char *path, bool foreign)
{
	struct seen s = {.file = path};
	struct blame *b = blame_of(&s);
	struct reader *r;

	if (foreign)
		blame_set_foreign(b);
	if (!reader_open(path, NULL, &r)) {
		reader_each(r, put, b);
		assert_int_equal(blame_end(b), 0);
		assert_int_equal(blame_counts(b)->exits, s.exits);
		reader_close(r);
	}
	blame_free(b);
	return s.exits;
}

/* The sums hold whatever the events are: also if the trace is taken for one of the other kind. */
static uint64_t exits_of(const char *path)
{
	uint64_t nr = exits_read(path, true);

	assert_int_equal(exits_read(path, false), nr);
	return nr;
}

static void recordings(void **state)
{
	static const char *const more[] = {"tests/golden/*", "tests/oracles/*", "tests/broken/*",
					   "tests/fuzz/corpus/*/*"};
	unsigned int with_exits = 0;
	uint64_t exits = 0;
	glob_t found;

	(void)state;
	assert_int_equal(glob("tests/cases/*/*", 0, NULL, &found), 0);
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		assert_int_equal(glob(more[i], GLOB_APPEND, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		uint64_t nr = exits_of(found.gl_pathv[i]);

		exits += nr;
		with_exits += nr > 0;
	}
	globfree(&found);
	print_message("%u recordings with %lu exits\n", with_exits, exits);
	assert_true(with_exits >= 30); /* the files are found, and have exits */
}

/* ---- random streams ---- */

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state * 0x2545f4914f6cdd1d) >> 32; /* xorshift64*: the low bits are weak */
}

enum { RECORD_BYTES = 256, STREAM_EVENTS = 20000, STREAMS = 40 };

static void field_set(uint8_t *record, const struct event_type *t, const char *name, uint64_t value)
{
	const struct field *f = event_field(t, name);

	assert_non_null(f);
	memcpy(record + f->offset, &value, f->size);
}

struct stream {
	uint64_t seed, ns;
	uint32_t leaving; /* this thread has just left its CPU; 0: none */
	bool exits;	  /* with kvm_exit and kvm_entry */
	bool foreign;	  /* switches are in threads of several processes */
	_Alignas(8) uint8_t record[RECORD_BYTES];
};

static void switch_fill(struct stream *s, const struct event_type *t, uint32_t tid)
{
	bool leaves = random_next(&s->seed) & 1;

	field_set(s->record, t, leaves ? "prev_tid" : "next_tid", tid);
	field_set(s->record, t, leaves ? "next_tid" : "prev_tid", random_next(&s->seed) % 8);
	field_set(s->record, t, "prev_state", random_next(&s->seed) % 5); /* 4: stopped */
	s->leaving = leaves ? tid : 0;
}

static void block_fill(struct stream *s, const struct event_type *t, uint32_t tid)
{
	static const uint64_t numbers[] = {202, 202, 202, 202, 16, 7, UINT64_MAX};

	field_set(s->record, t, "syscall", numbers[random_next(&s->seed) % 7]);
	field_set(s->record, t, "arg1", random_next(&s->seed) % 8 ? 0x80 : 0xae80);
	field_set(s->record, t, "is_global", random_next(&s->seed) % 8 > 0);
	field_set(s->record, t, "global_word", random_next(&s->seed) & 1 ? UINT32_MAX : 2);
	field_set(s->record, t, "global_owner", random_next(&s->seed) % 8);
	field_set(s->record, t, "ns_tid", tid);
	s->leaving = 0;
}

/* Of threads 1 to 6 of a VM. Behind a switch comes the block that explains it, as in a recording. */
static unsigned int event_choose(struct stream *s)
{
	static const unsigned int ids[] = {
		EV_sched_switch,    EV_sched_switch,	   EV_sched_switch, EV_sched_switch,
		EV_sched_woken,	    EV_sched_woken,	   EV_sched_woken,  EV_sched_block,
		EV_kvm_pio,	    EV_kvm_mmio,	   EV_kvm_inj_virq, EV_kvm_page_fault,
		EV_kvm_vcpu_wakeup, EV_kvm_userspace_exit, EV_kvm_run,	    EV_sched_wakeup,
		EV_kvm_exit,	    EV_kvm_entry,
	};

	if (s->leaving)
		return EV_sched_block;
	if (random_next(&s->seed) % 2000 == 0)
		return random_next(&s->seed) & 1 ? EV_lost : EV_gap;
	return ids[random_next(&s->seed) % (s->exits ? 18 : 16)];
}

static void event_make(struct stream *s, struct event *ev)
{
	unsigned int id = event_choose(s);
	uint32_t tid = s->leaving ? s->leaving : 1 + random_next(&s->seed) % 6;

	memset(s->record, 0, RECORD_BYTES);
	s->ns += random_next(&s->seed) % 1000;
	*ev = (struct event){.type = event_type_ours(id), .data = s->record, .pid = 1, .tid = tid,
			     .vcpu = (uint16_t)tid, .cpu = (uint16_t)(random_next(&s->seed) % 4)};
	ev->time_ns = s->ns - random_next(&s->seed) % 3 * 10; /* not quite in order */
	ev->size = ev->type->size;
	if (id == EV_sched_switch && s->foreign)
		ev->pid += (uint32_t)(random_next(&s->seed) % 3);
	if (id == EV_sched_switch)
		switch_fill(s, ev->type, tid);
	else if (id == EV_sched_wakeup)
		field_set(s->record, ev->type, "wake_tid", random_next(&s->seed) % 8);
	else if (id == EV_sched_block)
		block_fill(s, ev->type, tid);
	else if (id == EV_sched_woken)
		field_set(s->record, ev->type, "waker_pid", random_next(&s->seed) % 4 > 0);
	else if (id == EV_lost || id == EV_gap)
		field_set(s->record, ev->type, "until", s->ns + random_next(&s->seed) % 5000);
	else if (id == EV_kvm_userspace_exit) /* KVM_EXIT_IO or KVM_EXIT_INTR */
		field_set(s->record, ev->type, "reason", random_next(&s->seed) % 4 ? 2 : 10);
	else if (id == EV_kvm_vcpu_wakeup)
		field_set(s->record, ev->type, "ns", random_next(&s->seed) % 10000);
	if (id == EV_lost)
		field_set(s->record, ev->type, "lost_event", random_next(&s->seed) % 20);
}

static void random_streams(void **state)
{
	struct seen seen = {.file = "random"};
	uint64_t exits = 0;

	(void)state;
	for (uint64_t i = 1; i <= STREAMS; i++) {
		struct stream s = {.seed = i * 0x9e3779b97f4a7c15, .ns = 1000000,
				   .exits = i & 1, .foreign = i & 2};
		struct blame *b = blame_of(&seen);
		struct event ev;

		if (s.foreign)
			blame_set_foreign(b);
		for (unsigned int k = 0; k < STREAM_EVENTS; k++) {
			event_make(&s, &ev);
			assert_int_equal(blame_event(b, &ev), 0);
		}
		assert_int_equal(blame_end(b), 0);
		blame_free(b);
		exits += seen.exits;
		seen.exits = 0;
	}
	assert_int_equal(seen.restarts, STREAMS / 2);
	assert_true(exits > 10000);
	for (unsigned int i = 0; i < BLAME_CAUSES; i++)
		if (!seen.causes[i])
			fail_msg("no time of cause %s", blame_cause_names[i]);
}

/* An exit of so many parts that not all are kept: the later ones are summed up, and the exit is counted. */
static void many_parts(void **state)
{
	struct rec_kvm_exit exit_rec = {.reason = 1, .isa = 1};
	struct rec_kvm_entry entry_rec = {{0}};
	struct rec_sched_switch out = {.prev_tid = 11, .next_tid = 7}, in = {.next_tid = 11};
	struct event ev = {.pid = 10, .tid = 11, .time_ns = 1000};
	struct seen s = {.file = "many"};
	struct blame *b = blame_of(&s);

	(void)state;
#define PUT(id, rec)                                                                               \
	do {                                                                                       \
		ev.type = event_type_ours(id);                                                     \
		ev.data = (const uint8_t *)&(rec);                                                 \
		ev.size = sizeof(rec);                                                             \
		ev.time_ns += 10;                                                                  \
		assert_int_equal(blame_event(b, &ev), 0);                                          \
	} while (0)
	PUT(EV_kvm_exit, exit_rec);
	for (unsigned int i = 0; i < BLAME_PARTS_MAX; i++) {
		PUT(EV_sched_switch, out);
		PUT(EV_sched_switch, in);
	}
	PUT(EV_kvm_entry, entry_rec);
	assert_int_equal(blame_end(b), 0);
	assert_int_equal(s.exits, 1);
	assert_int_equal(s.time_ns, (2 * BLAME_PARTS_MAX + 1) * 10);
	assert_int_equal(s.parts, BLAME_PARTS_MAX + 2); /* the later ones are of two kinds */
	assert_int_equal(s.causes[BLAME_KERNEL], (BLAME_PARTS_MAX + 1) * 10);
	assert_int_equal(s.causes[BLAME_PREEMPTED], BLAME_PARTS_MAX * 10);
	assert_int_equal(blame_counts(b)->too_long, 1);
	blame_free(b);
}

static void given(void **state)
{
	(void)state;
	print_message("%lu exits\n", exits_of(getenv("RECORDING")));
}

int main(void)
{
	const struct CMUnitTest one[] = {cmocka_unit_test(given)};
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recordings),
		cmocka_unit_test(random_streams),
		cmocka_unit_test(many_parts),
	};

	return getenv("RECORDING") ? cmocka_run_group_tests(one, NULL, NULL)
				   : cmocka_run_group_tests(tests, NULL, NULL);
}
