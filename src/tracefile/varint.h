/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Variable-length integers of the trace file: 7 bits to a byte, lowest first, bit 7 set in all but the last. Signed
 * differences are zigzag: 0, -1, 1, -2, ... become 0, 1, 2, 3, ...
 */
#ifndef HOSTRACE_TRACEFILE_VARINT_H
#define HOSTRACE_TRACEFILE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

enum { VARINT_MAX = 10 }; /* bytes of 64 bits */

/* Needs VARINT_MAX bytes of space. Returns the address after the number. */
static inline uint8_t *varint_put(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

static inline uint64_t zigzag(uint64_t v)
{
	return v << 1 ^ (uint64_t)((int64_t)v >> 63);
}

static inline uint64_t unzigzag(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

/* Foreign bytes being read: once broken it stays so, and yields zeros. */
struct varints {
	const uint8_t *p, *end;
	bool broken;
};

static inline unsigned int byte_get(struct varints *in)
{
	if (in->p < in->end)
		return *in->p++;
	in->broken = true;
	return 0;
}

static inline uint64_t varint_get(struct varints *in)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		unsigned int byte = byte_get(in);

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return v;
	}
	in->broken = true;
	return 0;
}

/* The same, at most `max`; more is broken. */
static inline uint64_t varint_upto(struct varints *in, uint64_t max)
{
	uint64_t v = varint_get(in);

	if (v <= max)
		return v;
	in->broken = true;
	return 0;
}

#endif
