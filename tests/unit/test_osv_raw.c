// SPDX-License-Identifier: GPL-2.0-or-later
/* Rings of OSv guests that wrapped, that were being written, that lie. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "readers/osv/raw.h"

enum { KEY = 0x401000, RING_BYTES = 4 * OSV_RING_PAGE, RECORD = 48 + 8 };

/* One argument, a number: 56 bytes a record. */
static int lookup(void *ctx, uint64_t key, struct osv_raw_tracepoint *ret)
{
	(*(int *)ctx)++;
	if (key != KEY)
		return -ENOENT;
	*ret = (struct osv_raw_tracepoint){strdup("tick"), strdup("Q"), strdup("n=%d")};
	return 0;
}

/* The guest's own writer, as OSv's: pages are closed with a 0 where a record does not fit. */
struct writer {
	uint8_t *mem;
	uint64_t last;
};

static uint8_t *put(struct writer *w, uint64_t key, uint64_t n)
{
	uint64_t room = OSV_RING_PAGE - w->last % OSV_RING_PAGE;
	uint64_t words[6] = {key, 0x1000, 0, 0, n, 1ull | 0xfe00000000ull << 8};
	uint8_t *p;

	if (room < RECORD) {
		if (room >= 8)
			memset(w->mem + w->last % RING_BYTES, 0, 8);
		w->last += room;
	}
	p = w->mem + w->last % RING_BYTES;
	memcpy(words + 2, "a thread's name!", 16);
	memcpy(p, words, sizeof(words));
	memcpy(p + 48, &n, 8);
	w->last += RECORD;
	return p;
}

static struct sample_trace *trace_of(const struct writer *w, struct osv_raw_counts *counts)
{
	struct osv_ring ring = {w->mem, RING_BYTES, w->last};
	struct sample_trace *t = NULL;
	int asked = 0;

	assert_int_equal(osv_raw_open("test", &ring, 1, lookup, &asked, &t, counts), 0);
	assert_true(asked <= 2);
	return t;
}

/* The samples are numbered from..to without a gap. */
static void samples_check(const struct writer *w, uint64_t from, uint64_t to)
{
	struct osv_raw_counts counts;
	struct sample_trace *t = trace_of(w, &counts);
	struct sample s;
	uint64_t n = from;

	while (sample_next(t, &s) > 0) {
		assert_int_equal(s.time_ns, n++);
		assert_string_equal(s.thread_name, "a thread's name!");
		assert_int_equal(s.nr_backtrace, 0);
	}
	assert_int_equal(n, to);
	assert_int_equal(counts.records, to - from);
	sample_trace_close(t);
}

static void wrapped(void **state)
{
	struct writer w = {calloc(1, RING_BYTES), 0};
	uint64_t per_page = OSV_RING_PAGE / RECORD;

	(void)state;
	samples_check(&w, 1, 1);
	for (uint64_t n = 1; n <= 20 * per_page + 5; n++) {
		uint64_t page = (n - 1) / per_page, oldest = 1;

		put(&w, KEY, n);
		/* The page being written cost what it held before. */
		if (page >= 4 || (page == 3 && n % per_page == 0))
			oldest = (page - 3) * per_page + 1;
		if (n % per_page == 1 || n % per_page == 2)
			samples_check(&w, oldest > 1 && page < 4 ? 1 : oldest, n + 1);
	}
	free(w.mem);
}

static void being_written(void **state)
{
	struct writer w = {calloc(1, RING_BYTES), 0};
	struct osv_raw_counts counts;
	struct sample_trace *t;

	(void)state;
	for (uint64_t n = 1; n <= 9; n++)
		memset(put(&w, KEY, n), n == 6 ? 0xff : 0, n == 6 ? 8 : 0);
	t = trace_of(&w, &counts);
	assert_int_equal(counts.records, 5);
	assert_int_equal(counts.unfinished, 1);
	assert_int_equal(osv_raw_counts(t)->unfinished, 1);
	sample_trace_close(t);
	free(w.mem);
}

static void lies(void **state)
{
	struct writer w = {calloc(1, RING_BYTES), 0};
	struct osv_ring odd[] = {{w.mem, 0, 0}, {w.mem, 4095, 0}, {w.mem, 1ull << 40, 0}};
	struct osv_raw_counts counts;
	struct sample_trace *t;
	int asked = 0;

	(void)state;
	for (uint64_t n = 1; n <= 100; n++) /* the tenth's page ends there, the second page is good */
		put(&w, n == 10 ? 0xbad : KEY, n);
	t = trace_of(&w, &counts);
	assert_int_equal(counts.bad, 1);
	assert_int_equal(counts.records, 9 + 100 - OSV_RING_PAGE / RECORD);
	sample_trace_close(t);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(osv_raw_open("test", &odd[i], 1, lookup, &asked, &t, &counts),
				 -EBADMSG);
	memset(w.mem, 0x41, RING_BYTES);
	t = trace_of(&w, &counts);
	assert_int_equal(counts.records, 0);
	sample_trace_close(t);
	free(w.mem);
}

/* Up to the page's very end, and the arguments of a record that would pass it. */
static void page_end(void **state)
{
	struct writer w = {calloc(1, RING_BYTES), 0};
	struct osv_raw_counts counts;
	struct sample_trace *t;

	(void)state;
	for (uint64_t n = 1; n <= 73; n++)
		put(&w, KEY, n); /* 73 * 56 = 4088: no room for another, 8 bytes left */
	samples_check(&w, 1, 74);
	w.last = OSV_RING_PAGE - 48;
	memset(w.mem, 0, RING_BYTES);
	memcpy(w.mem, (uint64_t[]){KEY, 1, 0, 0, 1, 1}, 48);
	w.last = 48; /* the arguments are missing */
	t = trace_of(&w, &counts);
	assert_int_equal(counts.records, 0);
	assert_int_equal(counts.bad, 1);
	sample_trace_close(t);
	free(w.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(wrapped),
		cmocka_unit_test(being_written),
		cmocka_unit_test(lies),
		cmocka_unit_test(page_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
