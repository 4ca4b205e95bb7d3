// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of the ring buffers. The test writes as bpf/emit.bpf.h does: reserve at head, fill,
 * publish by setting the mark.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef HOSTRACE_LIVE
#undef fail
#include "../../src/base/error.h"
#include "../../src/collector/internal.h"

enum { CPUS = 2, RING_BYTES = 1 << 17, SECRET = 0x5ec4e7 };

struct seen {
	unsigned int nr, pairs, lost;
	uint64_t lost_count;
	uint32_t tids[8192];
	int fail_at; /* the sink's error at this record; 0: never */
};

static int sink(void *arg, const struct record_hdr *hdr)
{
	struct seen *s = arg;

	if (hdr->type == EV_clock_pair) {
		s->pairs++;
		return 0;
	}
	if (hdr->type == EV_lost) {
		s->lost++;
		s->lost_count += ((const struct rec_lost *)hdr)->count;
		return 0;
	}
	if (s->nr < 8192)
		s->tids[s->nr] = hdr->tid;
	s->nr++;
	return s->fail_at && (int)s->nr == s->fail_at ? -ENOSPC : 0;
}

static int setup(void **state)
{
	struct collector *c = calloc(1, sizeof(*c));

	c->nr_cpus = CPUS;
	c->ring_bytes = RING_BYTES;
	c->stride = RING_HEAD_BYTES + RING_BYTES + RING_SPILL_BYTES;
	c->secret = SECRET;
	c->rings = aligned_alloc(4096, CPUS * c->stride);
	memset(c->rings, 0, CPUS * c->stride);
	c->lost_seen = calloc(CPUS * RING_TYPES, sizeof(*c->lost_seen));
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	struct collector *c = *state;

	free(c->rings);
	free(c->lost_seen);
	free(c);
	return 0;
}

/* Reserves; the position is what publish() wants. False: the ring is full. */
static bool write_one(struct collector *c, unsigned int cpu, uint32_t tid, uint64_t *ret_pos)
{
	struct ring_head *ring = ring_of(c, cpu);
	const uint32_t bytes = sizeof(struct rec_kvm_pio) + RING_MARK_BYTES;
	uint64_t pos = ring->head;
	uint8_t *slot = (uint8_t *)ring + RING_HEAD_BYTES + (pos & (RING_BYTES - 1));
	struct rec_kvm_pio rec = {
		.hdr = {.type = EV_kvm_pio, .size = sizeof(rec), .tid = tid, .time = pos}};

	if (pos - ring->tail + bytes > RING_BYTES - RING_RESERVE_BYTES) {
		ring->lost[EV_kvm_pio]++;
		return false;
	}
	ring->head = pos + bytes;
	memcpy(slot + RING_MARK_BYTES, &rec, sizeof(rec));
	*ret_pos = pos;
	return true;
}

static void publish(struct collector *c, unsigned int cpu, uint64_t pos)
{
	uint64_t mark = pos + SECRET;

	memcpy((uint8_t *)ring_of(c, cpu) + RING_HEAD_BYTES + (pos & (RING_BYTES - 1)), &mark,
	       sizeof(mark));
}

/* Many laps: records run into the spill, stale marks of former laps lie about. */
static void test_laps(void **state)
{
	struct collector *c = *state;
	uint64_t watermark, pos;
	uint32_t tid = 0, expected = 0;

	for (int round = 0; round < 50; round++) {
		struct seen s = {0};

		for (int i = 0; i < 700; i++) {
			assert_true(write_one(c, 0, tid++, &pos));
			publish(c, 0, pos);
		}
		assert_int_equal(collector_round(c, sink, &s, &watermark), 0);
		assert_int_equal(s.nr, 700);
		for (unsigned int i = 0; i < s.nr; i++)
			assert_int_equal(s.tids[i], expected++);
	}
	assert_int_equal(collector_counts(c)->events, 50 * 700);
	assert_int_equal(collector_counts(c)->by_type[EV_kvm_pio], 50 * 700);
}

/* A slot that is reserved and not filled holds back its CPU and the watermark, not the other CPU.
 */
static void test_unpublished(void **state)
{
	struct collector *c = *state;
	struct seen s = {0};
	uint64_t first, second, other, watermark = 1, later;

	assert_true(write_one(c, 0, 1, &first));
	assert_true(write_one(c, 0, 2, &second));
	assert_true(write_one(c, 1, 3, &other));
	publish(c, 0, second);
	publish(c, 1, other);
	assert_int_equal(collector_round(c, sink, &s, &watermark), 0);
	assert_int_equal(s.nr, 1);
	assert_int_equal(s.tids[0], 3);
	assert_int_equal(watermark, 0);
	publish(c, 0, first);
	assert_int_equal(collector_round(c, sink, &s, &later), 0);
	assert_int_equal(s.nr, 3);
	assert_int_equal(s.tids[1], 1);
	assert_int_equal(s.tids[2], 2);
	assert_true(later > 0);
}

static void test_lost(void **state)
{
	struct collector *c = *state;
	struct seen s = {0};
	uint64_t watermark, pos;
	unsigned int written = 0, refused = 0;

	for (int i = 0; i < 5000; i++) {
		if (write_one(c, 1, (uint32_t)i, &pos)) {
			publish(c, 1, pos);
			written++;
		} else {
			refused++;
		}
	}
	assert_true(refused > 0);
	assert_int_equal(collector_round(c, sink, &s, &watermark), 0);
	assert_int_equal(s.nr, written);
	assert_int_equal(s.lost, 1);
	assert_int_equal(s.lost_count, refused);
	assert_int_equal(collector_round(c, sink, &s, &watermark), 0);
	assert_int_equal(s.lost, 1); /* reported once */
	assert_int_equal(collector_counts(c)->lost, refused);

	json_t *lost = collector_lost(c);
	json_t *by_cpu = json_object_get(lost, "kvm_pio");

	assert_int_equal(json_integer_value(json_object_get(by_cpu, "1")), refused);
	json_decref(lost);
}

/* What the sink could not take is not given again, and the rest is. */
static void test_sink_fails(void **state)
{
	struct collector *c = *state;
	struct seen s = {.fail_at = 2};
	uint64_t watermark, pos;

	for (uint32_t i = 0; i < 4; i++) {
		assert_true(write_one(c, 0, i, &pos));
		publish(c, 0, pos);
	}
	assert_int_equal(collector_round(c, sink, &s, &watermark), -ENOSPC);
	assert_int_equal(s.nr, 2);
	s.fail_at = 0;
	assert_int_equal(collector_round(c, sink, &s, &watermark), 0);
	assert_int_equal(s.nr, 4);
	assert_int_equal(s.tids[3], 3);
}

static void test_broken_record(void **state)
{
	struct collector *c = *state;
	struct seen s = {0};
	uint64_t watermark, pos;
	struct record_hdr *hdr =
		(void *)((uint8_t *)ring_of(c, 0) + RING_HEAD_BYTES + RING_MARK_BYTES);

	assert_true(write_one(c, 0, 1, &pos));
	hdr->size = 3;
	publish(c, 0, pos);
	assert_int_equal(collector_round(c, sink, &s, &watermark), -EPROTO);
}

/* BPF's clock is not this process's: the round fails, with the number of events. */
static void test_outside(void **state)
{
	struct collector *c = *state;
	struct seen s = {0};
	uint64_t watermark, pos;

	c->open_ns = 1000;
	for (int i = 0; i < 3; i++) {
		assert_true(write_one(c, 0, 1, &pos)); /* their times are positions */
		publish(c, 0, pos);
	}
	assert_int_equal(collector_round(c, sink, &s, &watermark), -EPROTO);
	assert_non_null(strstr(error_text(), "3 events have timestamps that are not of this"));
	assert_int_equal(s.nr, 0);
	assert_int_equal(collector_round(c, sink, &s, &watermark), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_laps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unpublished, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lost, setup, teardown),
		cmocka_unit_test_setup_teardown(test_outside, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sink_fails, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broken_record, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP built without the collector");
	return 0;
}
#endif
