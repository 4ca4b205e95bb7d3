// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

/* Before cmocka.h, which has a macro of the name fail. */
#include "base/error.h"

#include <cmocka.h>

#include "base/buffer.h"
#include "base/crc32c.h"

static void little_endian(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
	struct buffer b = buffer_of(bytes, sizeof(bytes), "f", 100);

	(void)state;
	assert_int_equal(buffer_u8(&b), 1);
	assert_int_equal(buffer_u16(&b), 0x0302);
	assert_int_equal(buffer_u32(&b), 0x07060504);
	assert_int_equal(buffer_u64(&b), 0x0f0e0d0c0b0a0908);
	assert_int_equal(buffer_tell(&b), 115);
	assert_int_equal(buffer_left(&b), 0);
	assert_int_equal(buffer_ok(&b, "it"), 0);
}

static void past_the_end(void **state)
{
	static const uint8_t bytes[] = {1, 2, 3};
	struct buffer b = buffer_of(bytes, sizeof(bytes), "name", 100);

	(void)state;
	assert_int_equal(buffer_u32(&b), 0);
	assert_true(b.cut);
	assert_int_equal(buffer_u16(&b), 0x0201); /* the failed read consumed nothing */
	assert_null(buffer_bytes(&b, SIZE_MAX));
	assert_int_equal(buffer_ok(&b, "the header"), -EBADMSG);
	assert_string_equal(error_text(), "name: offset 102: the header is truncated");
}

/* RFC 3720, B.4, and the value of every CRC catalogue for "123456789". */
static void crc_vectors(void **state)
{
	uint8_t bytes[32];

	(void)state;
	assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x8a9136aa);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x62a8ab43);
	for (unsigned int i = 0; i < 32; i++)
		bytes[i] = (uint8_t)i;
	assert_int_equal(crc32c(0, bytes, sizeof(bytes)), 0x46dd794e);
	assert_int_equal(crc32c(0, "", 0), 0);
}

/* Bit by bit, as defined: without table or instruction. */
static uint32_t crc_slow(const uint8_t *p, size_t len)
{
	uint32_t crc = 0xffffffff;

	while (len--) {
		crc ^= *p++;
		for (int i = 0; i < 8; i++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
	}
	return ~crc;
}

/* Long enough for stretches that are summed up side by side. */
static void crc_of_much(void **state)
{
	static uint8_t bytes[20011];

	(void)state;
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i * 37 + (i >> 7));
	for (size_t len = 3000; len <= sizeof(bytes); len += 1301)
		assert_int_equal(crc32c(0, bytes, len), crc_slow(bytes, len));
	assert_int_equal(crc32c(crc32c(0, bytes, 7001), bytes + 7001, 9001),
			 crc_slow(bytes, 16002));
}

static void crc_any_length_and_split(void **state)
{
	uint8_t bytes[67];

	(void)state;
	for (unsigned int i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * 37 + 11);
	for (size_t len = 0; len <= sizeof(bytes); len++) {
		uint32_t want = crc_slow(bytes, len);

		assert_int_equal(crc32c(0, bytes, len), want);
		for (size_t cut = 0; cut <= len; cut++)
			assert_int_equal(crc32c(crc32c(0, bytes, cut), bytes + cut, len - cut),
					 want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(little_endian),
		cmocka_unit_test(past_the_end),
		cmocka_unit_test(crc_vectors),
		cmocka_unit_test(crc_any_length_and_split),
		cmocka_unit_test(crc_of_much),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
