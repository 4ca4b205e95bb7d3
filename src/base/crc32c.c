// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * x86 has an instruction for this polynomial (SSE4.2); other CPUs use a table of 256 entries. The tests compare the
 * two with a computation bit by bit.
 */
#include <string.h>

#include "base/crc32c.h"

/*
 * A CRC is linear: the entry of a byte is the xor of the entries of its bits. So a table of 256 entries follows from
 * eight constants, at compile time.
 */
#define ENTRY(i, b0, b1, b2, b3, b4, b5, b6, b7)                                                   \
	(((i) & 1 ? (b0) : 0u) ^ ((i) & 2 ? (b1) : 0u) ^ ((i) & 4 ? (b2) : 0u) ^                   \
	 ((i) & 8 ? (b3) : 0u) ^ ((i) & 16 ? (b4) : 0u) ^ ((i) & 32 ? (b5) : 0u) ^                 \
	 ((i) & 64 ? (b6) : 0u) ^ ((i) & 128 ? (b7) : 0u))
#define ENTRIES_4(i, ...)                                                                          \
	ENTRY(i, __VA_ARGS__), ENTRY(i + 1, __VA_ARGS__), ENTRY(i + 2, __VA_ARGS__),               \
		ENTRY(i + 3, __VA_ARGS__)
#define ENTRIES_16(i, ...)                                                                         \
	ENTRIES_4(i, __VA_ARGS__), ENTRIES_4(i + 4, __VA_ARGS__), ENTRIES_4(i + 8, __VA_ARGS__),   \
		ENTRIES_4(i + 12, __VA_ARGS__)
#define ENTRIES_64(i, ...)                                                                         \
	ENTRIES_16(i, __VA_ARGS__), ENTRIES_16(i + 16, __VA_ARGS__),                               \
		ENTRIES_16(i + 32, __VA_ARGS__), ENTRIES_16(i + 48, __VA_ARGS__)
#define ENTRIES_256(...)                                                                           \
	ENTRIES_64(0, __VA_ARGS__), ENTRIES_64(64, __VA_ARGS__), ENTRIES_64(128, __VA_ARGS__),     \
		ENTRIES_64(192, __VA_ARGS__)

/* What a zero byte makes of each value of a CRC's low byte; polynomial 0x82f63b78 (reflected). */
static const uint32_t table[256] = {
	ENTRIES_256(0xf26b8303, 0xe13b70f7, 0xc79a971f, 0x8ad958cf,
		    0x105ec76f, 0x20bd8ede, 0x417b1dbc, 0x82f63b78)};

static uint32_t crc_table(uint32_t crc, const uint8_t *p, size_t len)
{
	while (len--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

#ifdef __x86_64__
/*
 * The instruction takes three cycles but can begin every cycle, so three blocks are computed in parallel. A CRC
 * is linear: that of A B C is what LANE zeros make of (what LANE zeros make of A's, xor B's), xor C's.
 */
enum { LANE = 1024 };

/* What LANE zeros make of each byte of a CRC. */
static const uint32_t zeros[4][256] = {
	{ENTRIES_256(0xfe314258, 0xf98ef241, 0xf6f19273, 0xe80f5217,
		     0xd5f2d2df, 0xae09d34f, 0x59ffd06f, 0xb3ffa0de)},
	{ENTRIES_256(0x6213374d, 0xc4266e9a, 0x8da0abc5, 0x1ead217b,
		     0x3d5a42f6, 0x7ab485ec, 0xf5690bd8, 0xef3e6141)},
	{ENTRIES_256(0xdb90b473, 0xb2cd1e17, 0x60764adf, 0xc0ec95be,
		     0x84355d8d, 0x0d86cdeb, 0x1b0d9bd6, 0x361b37ac)},
	{ENTRIES_256(0x6c366f58, 0xd86cdeb0, 0xb535cb91, 0x6f87e1d3,
		     0xdf0fc3a6, 0xbbf3f1bd, 0x720b958b, 0xe4172b16)},
};

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

static uint32_t behind_zeros(uint64_t crc)
{
	return zeros[0][crc & 0xff] ^ zeros[1][crc >> 8 & 0xff] ^ zeros[2][crc >> 16 & 0xff] ^
	       zeros[3][crc >> 24 & 0xff];
}

__attribute__((target("sse4.2"))) static uint32_t crc_three(uint32_t crc, const uint8_t *p,
							    size_t len)
{
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
