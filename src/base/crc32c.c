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
#endif

uint32_t crc32c(uint32_t crc, const void *data, size_t len)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("sse4.2"))
		return ~crc_sse42(~crc, data, len);
#endif
	return ~crc_table(~crc, data, len);
}
