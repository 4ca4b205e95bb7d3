// SPDX-License-Identifier: GPL-2.0-or-later
/* Records through delta_pack() and back; and invalid input of delta_unpack(). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "record.h"
#include "tracefile/delta.h"

enum { LEN_MAX = 256 << 10 };

static uint64_t seed = 42;

static uint64_t random_next(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dull;
}

/* Records of a few threads and types; `noise` of 256 words are random altogether. */
static size_t records_make(uint8_t *out, size_t max, unsigned int noise)
{
	uint64_t time = 1000;
	size_t len = 0;

	for (;;) {
		uint64_t r = random_next();
		uint16_t size = (uint16_t)(24 + 8 * (r % 7 ? r % 5 : r >> 8 & 127));
		struct record_hdr h = {.time = time += r % 4000,
				       .pid = 10,
				       .tid = 11 + (uint32_t)(r >> 20) % 200,
				       .type = (uint16_t)(1 + r % 40),
				       .size = size,
				       .vcpu = 3};

		if (len + size > max)
			return len;
		memset(out + len, 0, size);
		memcpy(out + len, &h, sizeof(h));
		for (size_t i = sizeof(h); i < size; i += 8) {
			uint64_t v = random_next();

			v = (v & 0xff) < noise ? v : v >> 60;
			memcpy(out + len + i, &v, 8);
		}
		len += size;
	}
}

static void comes_back(void **state)
{
	uint8_t *in = malloc(LEN_MAX), *packed = malloc(LEN_MAX), *out = malloc(LEN_MAX);

	(void)state;
	for (unsigned int noise = 0; noise < 200; noise += 20) {
		size_t len = records_make(in, LEN_MAX, noise);
		size_t n = delta_pack(in, len, packed);

		if (!noise)
			assert_in_range(n, 1, len / 3);
		if (!n)
			continue;
		assert_true(n < len);
		assert_true(delta_unpack(packed, n, out, len));
		assert_memory_equal(in, out, len);
		assert_false(delta_unpack(packed, n, out, len - 8));
		assert_false(delta_unpack(packed, n - 1, out, len));
	}
	free(in);
	free(packed);
	free(out);
}

static void leaves_noise_alone(void **state)
{
	uint8_t in[4096], out[4096];
	size_t len = records_make(in, sizeof(in), 256);

	(void)state;
	assert_int_equal(delta_pack(in, len, out), 0);
	memset(in, 0, sizeof(in)); /* no records at all */
	assert_int_equal(delta_pack(in, sizeof(in), out), 0);
}

/* Each of these breaks one rule of doc/format.md. */
static void refuses(void **state)
{
	static const struct {
		uint8_t in[16];
		size_t len, raw;
	} cases[] = {
		{{0}, 0, 8},				      /* nothing there */
		{{0x00, 0x00}, 2, 8},			      /* an empty slot */
		{{0x80, 0x00}, 2, 8},			      /* no words */
		{{0x80, 0x02, 0x00}, 3, 8},		      /* longer than what is left */
		{{0x80, 0x80, 0x80, 0x04, 0x00}, 5, 1 << 20}, /* longer than any record */
		{{0x80, 0x01, 0x02, 0x01}, 4, 8},	      /* a bit beyond the last word */
		{{0x80, 0x01, 0x01}, 3, 8},		      /* no number */
		{{0x80, 0x01, 0x01, 0x80}, 4, 8},	      /* half a number */
		{{0x80, 0x01, 0x01, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
		  0x01},
		 14,
		 8},
		{{0x80, 0x01, 0x00, 0x00}, 4, 8}, /* more than was asked for */
	};
	uint8_t *out = malloc(1 << 20);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_false(delta_unpack(cases[i].in, cases[i].len, out, cases[i].raw));
	assert_true(delta_unpack((const uint8_t[]){0x80, 0x01, 0x01, 0x02}, 4, out, 8));
	assert_true(delta_unpack(NULL, 0, out, 0)); /* a chunk without payload */
	assert_false(delta_unpack(NULL, 0, out, 8));
	assert_int_equal(out[0], 1);
	free(out);
}

static void survives_damage(void **state)
{
	uint8_t *in = malloc(4096), *packed = malloc(4096), *out = malloc(4096);
	size_t len = records_make(in, 4096, 0), n = delta_pack(in, len, packed);

	(void)state;
	assert_true(n);
	for (unsigned int i = 0; i < 100000; i++) {
		size_t at = random_next() % n;
		uint8_t was = packed[at];

		packed[at] = (uint8_t)random_next();
		delta_unpack(packed, n, out, len); /* must not touch what is not its own */
		if (i % 3)
			packed[at] = was;
	}
	free(in);
	free(packed);
	free(out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(comes_back),
		cmocka_unit_test(leaves_noise_alone),
		cmocka_unit_test(refuses),
		cmocka_unit_test(survives_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
