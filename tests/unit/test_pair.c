// SPDX-License-Identifier: GPL-2.0-or-later
/* Pairing event by event: against a simple implementation on random streams, and at its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pairing/pair.h"

enum { THREADS = 7 };

struct seen {
	uint64_t spans, total_ns, marked, label;
};

static int on_span(void *arg, const struct span *s)
{
	struct seen *seen = arg;

	seen->spans++;
	seen->total_ns += s->end_ns - s->start_ns;
	seen->marked += s->marked;
	seen->label = s->label[0];
	assert_int_equal(s->label[SPAN_LABELS_MAX - 1], 0); /* it has not so many */
	return 0;
}

static int stop(void *arg, const struct span *s)
{
	(void)s;
	++*(int *)arg;
	return -5;
}

/* An event whose fields are all 0 except for the first bytes after the header. */
static int feed(struct pairing *p, unsigned int id, uint64_t ns, uint32_t tid, const void *fields,
		size_t size)
{
	uint64_t data[64] = {0};
	const struct event_type *type = event_type_ours(id);
	struct event ev = {.time_ns = ns,
			   .type = type,
			   .data = (const uint8_t *)data,
			   .pid = 10,
			   .tid = tid,
			   .size = type->size};

	memcpy((uint8_t *)data + sizeof(struct record_hdr), fields, size);
	return pairing_event(p, &ev);
}

static int event(struct pairing *p, unsigned int id, uint64_t ns, uint32_t tid)
{
	return feed(p, id, ns, tid, "", 0);
}

static void lose(struct pairing *p, uint64_t ns, uint32_t what)
{
	struct {
		uint64_t count, until;
		uint32_t cpu, event;
	} fields = {1, 0, 0, what};

	assert_int_equal(feed(p, EV_lost, ns, 0, &fields, sizeof(fields)), 0);
}

/* The expected behaviour in its simplest form: one open span per thread. */
static void random_streams(void **state)
{
	(void)state;
	for (unsigned int round = 0; round < 50; round++) {
		struct seen got = {0}, want = {0};
		struct {
			bool open, marked, stale; /* stale: events were lost since it began */
			uint64_t ns;
		} thread[THREADS] = {0};
		uint64_t begins = 0, ends = 0, unknown = 0, open = 0;
		struct pairing *p;

		assert_int_equal(
			pairing_open(analyzer_find("exit-latency", NULL), NULL, on_span, &got, &p),
			0);
		for (uint64_t ns = 1; ns < 2000; ns++) {
			unsigned int t = (unsigned int)random() % THREADS;
			unsigned int what = (unsigned int)random() % 100;

			if (what == 0) {
				lose(p, ns, EV_kvm_entry);
				for (unsigned int i = 0; i < THREADS; i++) {
					unknown += thread[i].open;
					thread[i].stale |= thread[i].open;
					thread[i].open = false;
				}
			} else if (what == 1) {
				lose(p, ns, EV_virtqueue_pop); /* nobody's here */
			} else if (what < 40) {
				assert_int_equal(event(p, EV_kvm_exit, ns, t), 0);
				begins += thread[t].open;
				thread[t].open = true;
				thread[t].marked = thread[t].stale = false;
				thread[t].ns = ns;
			} else if (what < 60) {
				assert_int_equal(event(p, EV_kvm_userspace_exit, ns, t), 0);
				thread[t].marked = true;
			} else {
				assert_int_equal(event(p, EV_kvm_entry, ns, t), 0);
				want.spans += thread[t].open;
				want.marked += thread[t].open && thread[t].marked;
				want.total_ns += thread[t].open ? ns - thread[t].ns : 0;
				ends += !thread[t].open && !thread[t].stale;
				thread[t].open = thread[t].stale = false;
			}
		}
		for (unsigned int i = 0; i < THREADS; i++)
			open += thread[i].open;
		assert_int_equal(pairing_end(p), 0);
		const struct pair_counts *c = pairing_counts(p);

		assert_int_equal(got.spans, want.spans);
		assert_int_equal(c->spans, want.spans);
		assert_int_equal(got.total_ns, want.total_ns);
		assert_int_equal(got.marked, want.marked);
		assert_int_equal(c->unmatched_begin, begins);
		assert_int_equal(c->open, open);
		assert_int_equal(c->unknown, unknown);
		assert_int_equal(c->unmatched_end, ends); /* that of an unknown span is not one */
		pairing_close(p);
	}
}

/* More at once than there is room for: counted, and what is open stays right. */
static void a_full_table(void **state)
{
	enum { BEYOND = 1000 };
	struct seen got = {0};
	struct pairing *p;

	(void)state;
	assert_int_equal(pairing_open(analyzer_find("exit-latency", NULL), NULL, on_span, &got, &p),
			 0);
	for (uint32_t i = 0; i < OPEN_SPANS_MAX + BEYOND; i++)
		assert_int_equal(event(p, EV_kvm_exit, 1000, i), 0);
	assert_int_equal(pairing_counts(p)->overflow, BEYOND);
	for (uint32_t i = 0; i < OPEN_SPANS_MAX + BEYOND; i++)
		assert_int_equal(event(p, EV_kvm_entry, 1001, i), 0);
	assert_int_equal(got.spans, OPEN_SPANS_MAX);
	assert_int_equal(got.total_ns, OPEN_SPANS_MAX);
	assert_int_equal(pairing_counts(p)->unmatched_end, BEYOND);
	assert_int_equal(pairing_counts(p)->open, 0);
	pairing_close(p);
}

/* Keys of which each falls into a slot that is taken must all be found again, whichever goes first. */
static void removal_keeps_the_rest(void **state)
{
	enum { NR = 30000 };
	struct seen got = {0};
	struct pairing *p;

	(void)state;
	assert_int_equal(pairing_open(analyzer_find("exit-latency", NULL), NULL, on_span, &got, &p),
			 0);
	for (uint32_t i = 0; i < NR; i++)
		assert_int_equal(event(p, EV_kvm_exit, i, i), 0);
	for (uint32_t i = 0; i < NR; i += 3)
		assert_int_equal(event(p, EV_kvm_entry, NR, i), 0);
	for (uint32_t i = NR; i-- > 0;)
		if (i % 3)
			assert_int_equal(event(p, EV_kvm_entry, NR, i), 0);
	assert_int_equal(got.spans, NR);
	assert_int_equal(pairing_counts(p)->unmatched_end, 0);
	pairing_close(p);
}

static void a_view_may_stop(void **state)
{
	struct pairing *p;
	int calls = 0;

	(void)state;
	assert_int_equal(pairing_open(analyzer_find("exit-latency", NULL), NULL, stop, &calls, &p),
			 0);
	assert_int_equal(event(p, EV_kvm_exit, 1, 1), 0);
	assert_int_equal(event(p, EV_kvm_entry, 2, 1), -5);
	assert_int_equal(event(p, EV_kvm_exit, 3, 1), -5);
	assert_int_equal(calls, 1);
	pairing_close(p);
}

/* Every analyzer refers to existing event names: finds typing errors. */
static void names_are_known(void **state)
{
	(void)state;
	for (const struct analyzer *const *a = analyzers; *a; a++) {
		const char *const lists[] = {(*a)->begin, (*a)->end, (*a)->mark, (*a)->needs};

		assert_ptr_equal(analyzer_find((*a)->name, NULL), *a);
		for (unsigned int i = 0; i < FALLBACKS_MAX; i++)
			assert_true(!(*a)->fallback[i].name || analyzer_fallback(*a, i));
		for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
			for (const char *p = lists[i]; p && *p;) {
				char name[EVENT_NAME_MAX] = "";
				size_t len = strcspn(p, ",");

				memcpy(name, p, len);
				assert_non_null(event_type_named(name));
				p += len + (p[len] == ',');
			}
	}
}

static void wrong_names(void **state)
{
	struct pair_analyzer own;
	struct pairing *p;

	(void)state;
	assert_null(analyzer_find("exit-latancy", NULL));
	assert_null(analyzer_find("pair:kvm_exit", &own));
	assert_non_null(analyzer_find("pair:a,b,tid", &own)); /* its events may come with the trace */
	assert_int_equal(analyzer_resolve(analyzer_find("pair:a,b,tid", &own)), -22);
	assert_int_equal(analyzer_resolve(analyzer_find("pair:kvm_exit,kvm_entry,tud", &own)), -22);
	assert_int_equal(analyzer_resolve(analyzer_find("pair:kvm_exit,kvm_entry,tid", &own)), 0);
	assert_int_equal(
		pairing_open(analyzer_find("exit-latency", NULL), "a,b,c,d,e,f,g", stop, NULL, &p),
		-22);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_streams),	  cmocka_unit_test(a_full_table),
		cmocka_unit_test(removal_keeps_the_rest), cmocka_unit_test(a_view_may_stop),
		cmocka_unit_test(names_are_known),	  cmocka_unit_test(wrong_names),
	};

	srandom(17);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
