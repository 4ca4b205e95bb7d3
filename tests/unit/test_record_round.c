// SPDX-License-Identifier: GPL-2.0-or-later
/* Records of several CPUs, in rounds: each is passed on once, in order of time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "event/record_round.h"
#include "random_util.h"

struct seen {
	uint64_t time[16];
	uint32_t tid[16];
	unsigned int nr, stop_at;
};

static int on_event(void *arg, const struct event *ev)
{
	struct seen *seen = arg;

	if (seen->nr == 16)
		return -1;
	seen->time[seen->nr] = ev->time_ns;
	seen->tid[seen->nr] = ev->tid;
	return ++seen->nr == seen->stop_at ? -7 : 0;
}

static void add(struct record_round *r, uint64_t time, uint32_t tid)
{
	/* of two sizes, so that moving one over another would be seen */
	unsigned int id = tid % 2 ? EV_kvm_exit : EV_kvm_entry;
	uint64_t bytes[64] = {0};
	struct record_hdr *rec = (struct record_hdr *)bytes;

	*rec = (struct record_hdr){
		.time = time, .tid = tid, .type = (uint16_t)id, .size = event_type_ours(id)->size};
	assert_int_equal(record_round_add(r, rec), 0);
}

static void expect(struct record_round *r, uint64_t watermark, const char *tids)
{
	struct seen seen = {.nr = 0};

	assert_int_equal(record_round_each(r, watermark, on_event, &seen), 0);
	assert_int_equal(seen.nr, strlen(tids));
	for (unsigned int i = 0; i < seen.nr; i++)
		assert_int_equal(seen.tid[i], tids[i] - '0');
}

static void each_once_in_order(void **state)
{
	struct record_round r = {0};

	(void)state;
	expect(&r, 100, "");
	add(&r, 30, 1), add(&r, 50, 2), add(&r, 70, 3); /* one CPU after the other */
	add(&r, 20, 4), add(&r, 60, 5);
	expect(&r, 50, "41"); /* the watermark itself is of a later round */
	expect(&r, 50, "");
	add(&r, 55, 6);
	expect(&r, 65, "265");
	expect(&r, 100, "3");
	expect(&r, UINT64_MAX, "");
	record_round_deinit(&r);
}

static void same_time_as_they_came(void **state)
{
	struct record_round r = {0};

	(void)state;
	add(&r, 9, 1), add(&r, 5, 2), add(&r, 9, 3), add(&r, 5, 4);
	expect(&r, 6, "24");
	add(&r, 9, 5);
	expect(&r, 10, "135");
	record_round_deinit(&r);
}

static void error_keeps_the_rest(void **state)
{
	struct seen seen = {.stop_at = 2};
	struct record_round r = {0};

	(void)state;
	add(&r, 3, 3), add(&r, 1, 1), add(&r, 2, 2), add(&r, 4, 4);
	assert_int_equal(record_round_each(&r, 10, on_event, &seen), -7);
	assert_int_equal(seen.nr, 2);
	expect(&r, 10, "34");
	record_round_deinit(&r);
}

struct sums {
	uint64_t nr, newest, tids;
};

static int on_random(void *arg, const struct event *ev)
{
	struct sums *s = arg;

	assert_true(ev->time_ns >= s->newest);
	s->newest = ev->time_ns;
	s->tids += ev->tid;
	s->nr++;
	return 0;
}

/* More than the buffers first hold; times up to two rounds ahead. */
static void many_rounds(void **state)
{
	struct record_round r = {0};
	struct sums out = {0};
	struct random random = {1};
	uint64_t nr = 0, tids = 0;

	(void)state;
	for (unsigned int round = 1; round <= 50; round++) {
		for (unsigned int i = 0; i < 2000; i++, nr++) {
			uint32_t tid = (uint32_t)random_below(&random, 1000);

			add(&r, 1000 * round + random_below(&random, 2000), tid);
			tids += tid;
		}
		assert_int_equal(record_round_each(&r, 1000 * (round + 1), on_random, &out), 0);
		assert_true(out.newest < 1000 * (round + 1));
	}
	assert_int_equal(record_round_each(&r, UINT64_MAX, on_random, &out), 0);
	assert_int_equal(out.nr, nr);
	assert_int_equal(out.tids, tids);
	record_round_deinit(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_once_in_order),
		cmocka_unit_test(same_time_as_they_came),
		cmocka_unit_test(error_keeps_the_rest),
		cmocka_unit_test(many_rounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
