// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86 has an instruction for this very polynomial (SSE4.2); a table of 256 entries serves everybody else, and
 * the tests compare the two.
 */
#include <pthread.h>
#include <string.h>

#include "base/crc32c.h"

enum { POLYNOMIAL_REFLECTED = 0x82f63b78 };

static uint32_t table[256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static void table_init(void)
{
	for (uint32_t i = 0; i < 256; i++) {
		uint32_t v = i;

		for (int bit = 0; bit < 8; bit++)
			v = v >> 1 ^ (v & 1 ? (uint32_t)POLYNOMIAL_REFLECTED : 0);
		table[i] = v;
	}
}

static uint32_t crc_table(uint32_t crc, const uint8_t *p, size_t len)
{
	pthread_once(&table_once, table_init);
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

#ifdef __x86_64__
/*
 * The instruction takes three cycles but can begin every cycle, so three stretches are summed up side by side. A CRC
 * is linear: that of A B C is what LANE zeros make of (what LANE zeros make of A's, xor B's), xor C's.
 */
enum { LANE = 1024 };

static uint32_t zeros[4][256]; /* what LANE zeros make of each byte of a CRC */
static pthread_once_t zeros_once = PTHREAD_ONCE_INIT;

__attribute__((target("sse4.2"))) static uint32_t crc_sse42(uint32_t crc, const uint8_t *p,
							    size_t len)
{
	uint64_t wide = crc, v;

	for (; len >= 8; len -= 8, p += 8) {
		memcpy(&v, p, 8);
		wide = __builtin_ia32_crc32di(wide, v);
	}
	crc = (uint32_t)wide;
	while (len--)
		crc = __builtin_ia32_crc32qi(crc, *p++);
	return crc;
}

static void zeros_init(void)
{
	static const uint8_t none[LANE];

	for (unsigned int byte = 0; byte < 4; byte++)
		for (unsigned int bit = 0; bit < 8; bit++) {
			uint32_t v = crc_sse42(1u << (8 * byte + bit), none, LANE);

			for (unsigned int i = 0; i < 256; i++)
				zeros[byte][i] ^= i >> bit & 1 ? v : 0;
		}
}

static uint32_t behind_zeros(uint64_t crc)
{
	return zeros[0][crc & 0xff] ^ zeros[1][crc >> 8 & 0xff] ^ zeros[2][crc >> 16 & 0xff] ^
	       zeros[3][crc >> 24 & 0xff];
}

__attribute__((target("sse4.2"))) static uint32_t crc_three(uint32_t crc, const uint8_t *p,
							    size_t len)
{
	if (len >= 3 * LANE)
		pthread_once(&zeros_once, zeros_init);
	for (; len >= 3 * LANE; len -= 3 * LANE, p += 3 * LANE) {
		uint64_t a = crc, b = 0, c = 0, v[3];

		for (size_t i = 0; i < LANE; i += 8) {
			memcpy(&v[0], p + i, 8);
			memcpy(&v[1], p + LANE + i, 8);
			memcpy(&v[2], p + 2 * LANE + i, 8);
			a = __builtin_ia32_crc32di(a, v[0]);
			b = __builtin_ia32_crc32di(b, v[1]);
			c = __builtin_ia32_crc32di(c, v[2]);
		}
		crc = behind_zeros(behind_zeros(a) ^ b) ^ (uint32_t)c;
	}
	return crc_sse42(crc, p, len);
}
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_three(~crc, data, len);
#endif
	return ~crc_table(~crc, data, len);
}
