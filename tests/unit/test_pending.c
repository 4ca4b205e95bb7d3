// SPDX-License-Identifier: GPL-2.0-or-later
/* The sort against the obvious one: every mixture of runs, in every round, comes out oldest first and stable. */
#include "event/pending.h"
#include "tracefile_util.h"

static uint64_t add(struct pending *p, uint64_t time, uint64_t serial)
{
	struct rec_kvm_entry rec = {
		.hdr = {.time = time, .type = EV_kvm_entry, .size = sizeof(rec)}, .rip = serial};
	uint8_t *to;

	assert_int_equal(pending_reserve(p, 1), 0);
	to = pending_memory(p, sizeof(rec));
	assert_non_null(to);
	memcpy(to, &rec, sizeof(rec));
	pending_add(p, time, to, sizeof(rec));
	return serial + 1;
}

static struct rec_kvm_entry taken(struct pending *p)
{
	struct rec_kvm_entry rec;

	memcpy(&rec, p->slots[p->head].data, sizeof(rec));
	assert_int_equal(rec.hdr.time, p->slots[p->head].time_ns);
	p->head++;
	p->live_bytes -= sizeof(rec);
	return rec;
}

/* Takes what is ready; checks order, stability and the watermark. Returns how many. */
static size_t drain(struct pending *p, uint64_t watermark, struct rec_kvm_entry *last)
{
	size_t nr = 0;

	for (; p->head < p->ready; nr++) {
		struct rec_kvm_entry rec = taken(p);

		assert_true(rec.hdr.time < watermark);
		assert_true(rec.hdr.time > last->hdr.time ||
			    (rec.hdr.time == last->hdr.time && rec.rip > last->rip));
		*last = rec;
	}
	return nr;
}

static void random_rounds(void **state)
{
	uint32_t seed = 3;

	(void)state;
	for (unsigned int test = 0; test < 200; test++) {
		struct pending p = {.until_ns = UINT64_MAX};
		struct rec_kvm_entry last = {0};
		uint64_t base = 1, serial = 1, got = 0;
		unsigned int cpus = 1 + dice(&seed) % 9, spread = 1 + dice(&seed) % 50;

		for (unsigned int round = 0; round < 10; round++, base += 1000) {
			for (unsigned int cpu = 0; cpu < cpus; cpu++) {
				uint64_t t = base;

				for (unsigned int n = dice(&seed) % 60; n--;
				     t += dice(&seed) % spread)
					/* now and then one step back, as a probe within a probe writes */
					serial = add(&p, dice(&seed) % 7 || t == base ? t : t - 1,
						     serial);
			}
			pending_release(&p, base + 500);
			got += drain(&p, base + 500, &last);
		}
		pending_release(&p, UINT64_MAX);
		got += drain(&p, UINT64_MAX, &last);
		assert_true(p.late == 0 ||
			    spread > 16); /* runs that reach over the next watermark */
		assert_int_equal(p.live_bytes, 0);
		if (!p.late)
			assert_int_equal(got, serial - 1);
		pending_deinit(&p);
	}
}

static void reversed_and_equal(void **state)
{
	struct pending p = {.until_ns = UINT64_MAX};
	struct rec_kvm_entry last = {0};
	uint64_t serial = 1;

	(void)state;
	for (uint64_t t = 5000; t > 0; t--)
		serial = add(&p, t, serial);
	for (unsigned int i = 0; i < 5000; i++)
		serial = add(&p, 6000, serial);
	pending_release(&p, 6001);
	assert_int_equal(drain(&p, 6001, &last), 10000);
	pending_deinit(&p);
}

/* Memory follows what lives, not what has passed through. */
static void blocks_are_reused(void **state)
{
	struct pending p = {.until_ns = UINT64_MAX};
	struct rec_kvm_entry last = {0};
	uint64_t serial = 1;

	(void)state;
	for (uint64_t t = 1; t <= 2000000; t++) {
		serial = add(&p, t, serial);
		if (t % 1000)
			continue;
		pending_release(&p, t - 500); /* half of each round waits for the next */
		drain(&p, t - 500, &last);
	}
	assert_true(p.block_bytes <= 6 << 20);
	pending_release(&p, UINT64_MAX);
	drain(&p, UINT64_MAX, &last);
	assert_int_equal(last.hdr.time, 2000000);
	assert_null(pending_memory(&p, PENDING_BLOCK + 1));
	pending_deinit(&p);
}

/* Of what is read nothing is returned, and little is wanted: the rest of its memory is used again. */
static void unwanted_is_reused(void **state)
{
	struct pending p = {.until_ns = UINT64_MAX};
	struct rec_kvm_entry last = {0};
	uint64_t serial = 1;

	(void)state;
	for (unsigned int i = 0; i < 200; i++) {
		serial = add(&p, 1000, serial);
		assert_non_null(pending_memory(&p, PENDING_BLOCK));
	}
	assert_true(p.block_bytes <= 6 << 20);
	pending_release(&p, UINT64_MAX);
	assert_int_equal(drain(&p, UINT64_MAX, &last), 200);
	pending_deinit(&p);
}

/* Slots count, too: of small records they are half of the memory. */
static void slots_are_counted(void **state)
{
	struct pending p = {.until_ns = UINT64_MAX};
	struct rec_kvm_entry last = {0};
	uint64_t serial = 1;

	(void)state;
	while (!pending_full(&p))
		serial = add(&p, 1000, serial);
	assert_true(p.block_bytes + p.nr * 2 * sizeof(*p.slots) <= PENDING_BYTES_MAX / 8 * 9);
	pending_release_half(&p);
	drain(&p, UINT64_MAX, &last);
	assert_false(pending_full(&p));
	pending_deinit(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_rounds),
		cmocka_unit_test(reversed_and_equal),
		cmocka_unit_test(blocks_are_reused),
		cmocka_unit_test(unwanted_is_reused),
		cmocka_unit_test(slots_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
