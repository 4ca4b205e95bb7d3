// SPDX-License-Identifier: GPL-2.0-or-later
/* Records through columns_pack() and back; the size of each encoding; and invalid input. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tracefile/columns.h"
#include "tracefile/varint.h"

enum { LEN_MAX = 256 << 10 };

static uint64_t seed = 42;
static const struct event_type *types[1 << 16];
static struct columns_packer *packer;
static struct columns *columns;
static uint8_t in[LEN_MAX], packed[LEN_MAX], out[LEN_MAX];

static int setup(void **state)
{
	(void)state;
	for (unsigned int id = 1; id < EV_LIMIT; id++)
		types[id] = event_type_ours(id);
	packer = columns_packer_new();
	columns = columns_new();
	return packer && columns ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	columns_packer_free(packer);
	columns_free(columns);
	return 0;
}

static uint64_t random_next(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dull;
}

static size_t pack(size_t len)
{
	const uint32_t *cuts;
	unsigned int nr_cuts;
	size_t n = columns_pack(packer, in, len, types, packed, len ? len - 1 : 0, &cuts,
				&nr_cuts);

	for (unsigned int i = 0; n && i < nr_cuts; i++) {
		assert_in_range(cuts[i], 1, n);
		assert_true(!i || cuts[i] > cuts[i - 1]);
	}
	return n;
}

/* Records of a few threads and types; `noise` of 256 words are random altogether. */
static size_t records_make(size_t max, unsigned int noise, unsigned int threads, uint64_t step)
{
	uint64_t time = 1000;
	size_t len = 0;

	for (;;) {
		uint64_t r = random_next();
		uint16_t type = (uint16_t)(1 + r % 19);
		uint16_t size = r % 7 ? types[type]->size : (uint16_t)(24 + 8 * (r >> 8 & 7));
		struct record_hdr h = {.time = time += r % step - step / 8,
				       .pid = 10,
				       .tid = 11 + (uint32_t)(r >> 20) % threads,
				       .type = type,
				       .size = size,
				       .cpu = (uint16_t)(r >> 60),
				       .vcpu = 3};

		if (len + size > max)
			return len;
		memset(in + len, 0, size);
		memcpy(in + len, &h, sizeof(h));
		for (size_t i = sizeof(h); i < size; i += 8) {
			uint64_t v = random_next();

			v = (v & 0xff) < noise ? v : v >> 60;
			memcpy(in + len + i, &v, 8);
		}
		len += size;
	}
}

static void comes_back(void **state)
{
	(void)state;
	for (unsigned int noise = 0; noise < 220; noise += 20)
		for (unsigned int threads = 1; threads < 300; threads *= 7) {
			size_t len = records_make(LEN_MAX >> noise % 3, noise, threads, 4000);
			size_t n = pack(len);

			if (!noise)
				assert_in_range(n, 1, len / 3);
			if (!n)
				continue;
			assert_true(n < len);
			memset(out, 0xaa, len);
			assert_true(columns_unpack(columns, packed, n, NULL, out, len));
			assert_memory_equal(in, out, len);
			assert_false(columns_unpack(columns, packed, n, NULL, out, len - 8));
			assert_false(columns_unpack(columns, packed, n - 1, NULL, out, len));
		}
}

static void leaves_noise_alone(void **state)
{
	size_t len = records_make(4096, 256, 200, ~0ull);

	(void)state;
	assert_int_equal(pack(len), 0);
	memset(in, 0, 4096); /* no records at all */
	assert_int_equal(pack(4096), 0);
	assert_int_equal(pack(0), 0);
}

/* Exits and entries of one thread; `rip` selects their values. */
static size_t cycles_make(unsigned int nr, uint64_t (*rip)(unsigned int i), uint64_t step)
{
	struct rec_kvm_exit exit = {.hdr = {.pid = 1, .tid = 2, .type = EV_kvm_exit}};
	struct rec_kvm_entry entry = {.hdr = {.pid = 1, .tid = 2, .type = EV_kvm_entry}};
	size_t len = 0;

	exit.hdr.size = sizeof(exit);
	entry.hdr.size = sizeof(entry);
	for (unsigned int i = 0; i < nr; i++) {
		exit.hdr.time = 1000000 + 2000ull * i;
		entry.hdr.time = exit.hdr.time + 500 + (i == nr / 2 ? 1ull << 40 : 0);
		exit.rip = rip(i);
		entry.rip = exit.rip + step;
		memcpy(in + len, &exit, sizeof(exit));
		memcpy(in + len + sizeof(exit), &entry, sizeof(entry));
		len += sizeof(exit) + sizeof(entry);
	}
	return len;
}

static uint64_t rip_same(unsigned int i)
{
	(void)i;
	return 0xffffffff81000000;
}

static uint64_t rip_rising(unsigned int i)
{
	return 0x1000000000ull * i;
}

static uint64_t rip_few(unsigned int i)
{
	(void)i;
	return (random_next() % 200) << 48;
}

static uint64_t rip_random(unsigned int i)
{
	(void)i;
	return random_next();
}

/* What one cycle may take at most, in each form: the columns of the entry cost nothing in all of them. */
static void forms(void **state)
{
	static const struct {
		uint64_t (*rip)(unsigned int i);
		double bytes;
	} cases[] = {{rip_same, .2}, {rip_few, 2.6}, {rip_random, 8.1}};
	enum { NR = 1000 };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t len = cycles_make(NR, cases[i].rip, 3), n = pack(len);

		assert_in_range(n, 1, (unsigned int)(NR * cases[i].bytes));
		assert_true(columns_unpack(columns, packed, n, NULL, out, len));
		assert_memory_equal(in, out, len);
	}
	size_t len = cycles_make(NR, rip_rising, 3), n = pack(len);

	assert_true(n < NR * 6); /* a difference of five bytes instead of eight */
	assert_true(columns_unpack(columns, packed, n, NULL, out, len));
	assert_memory_equal(in, out, len);
}

/* A reader of one column finds it without the others: the durations are the entries' steps. */
static void one_column_alone(void **state)
{
	enum { NR = 100 };
	size_t len = cycles_make(NR, rip_few, 0), n = pack(len);
	uint64_t value[2 * NR], scratch[2 * NR];

	(void)state;
	assert_true(n && columns_parse(columns, packed, n));
	assert_int_equal(columns->nr_kinds, 2);
	assert_int_equal(columns->kind[1].type, EV_kvm_entry);
	assert_int_equal(columns->kind[1].rows, NR);
	assert_int_equal(columns->nr_threads, 1);
	assert_int_equal(columns->thread[0].tid, 2);
	column_decode(columns, columns->kind[0].first, value, scratch);
	assert_int_equal(columns->thread[0].first_ns + value[0], 1000000);
	assert_int_equal(value[1], 1500);
	column_decode(columns, columns->kind[1].first, value, scratch);
	assert_int_equal(value[0], 500);
	assert_int_equal(value[NR / 2], 500 + (1ull << 40));
	assert_int_equal(value[NR - 1], 500);
	for (unsigned int i = 0; i < 2 * NR; i++)
		assert_int_equal(columns->sequence[i], i % 2);
}

/* Each of these breaks one rule of doc/format.md; the first is sound: one record of 24 bytes. */
static void refuses(void **state)
{
	static const struct {
		uint8_t in[40];
		size_t len;
	} cases[] = {
		/* clang-format off */
		/* kinds: 1 of type 4, 3 words, no fields; threads: 1; runs: 1; hits 1; time, CPU */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x04, 0, 0}, 19},
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x04, 0}, 18}, /* cut */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x04, 0, 0, 0}, 20}, /* left over */
		{{1, 4, 2, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x04, 0, 0}, 19}, /* too short */
		{{1, 4, 3, 40, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x04, 0, 0}, 19}, /* columns */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 1, 1, 1, 0x0c, 0, 0, 0x04, 0, 0}, 19}, /* no thread 1 */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 2, 0x0c, 0, 0, 0x04, 0, 0}, 19}, /* hits */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 0, 1, 0x0c, 0, 0, 0x04, 0, 0}, 20}, /* no kind 1 */
		{{0, 1, 7, 8, 9, 20, 1, 0, 1, 1}, 10}, /* a record of no kind */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x08, 0, 0, 0x04, 0, 0}, 19}, /* time of 4 */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x9c, 0, 0, 0x04, 0, 0}, 19}, /* width 9 */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x1c, 0, 0, 0x04, 0, 0}, 19}, /* no bytes */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0e, 0, 0, 0, 0x04, 0, 0}, 20}, /* like what */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x06, 0, 0, 0}, 20}, /* itself */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x27, 0, 0, 0, 0, 0}, 22}, /* wide */
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 2, 0, 1, 0, 1, 0x04, 0, 0}, 23},
		{{1, 4, 3, 0, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 1, 1, 1, 0x04, 0, 0}, 21}, /* row 1 */
		{{1, 4, 4, 1, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x04, 0, 0, 0x0c, 25, 0, 0}, 23},
		{{1, 4, 4, 1, 1, 7, 8, 9, 20, 1, 0, 1, 1, 0x0c, 0, 0, 0x04, 0, 0, 0x0c, 16, 0, 0}, 23},
		/* clang-format on */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(columns_unpack(columns, cases[i].in, cases[i].len, NULL, out,
						cases[i].in[2] == 4 ? 32 : 24),
				 !i);
	struct record_hdr h = {.time = 10, .pid = 7, .tid = 8, .type = 4, .size = 24, .vcpu = 9};

	assert_true(columns_unpack(columns, cases[0].in, cases[0].len, NULL, out, 24));
	assert_memory_equal(out, &h, sizeof(h));
	assert_false(columns_unpack(columns, cases[0].in, cases[0].len, NULL, out, 48));
}

static void survives_damage(void **state)
{
	size_t len = records_make(4096, 10, 5, 4000), n = pack(len);
	uint8_t *exact = malloc(n), *room = malloc(len);

	(void)state;
	assert_true(n);
	memcpy(exact, packed, n);
	for (unsigned int i = 0; i < 100000; i++) {
		size_t at = random_next() % n;
		uint8_t was = exact[at];

		exact[at] = (uint8_t)random_next();
		columns_unpack(columns, exact, n, NULL, room, len); /* must not touch what is not its own */
		if (i % 3)
			exact[at] = was;
		if (i % 1000 == 0)
			memcpy(exact, packed, n);
	}
	free(exact);
	free(room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),	    cmocka_unit_test(leaves_noise_alone),
		cmocka_unit_test(forms),	    cmocka_unit_test(one_column_alone),
		cmocka_unit_test(refuses),	    cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
