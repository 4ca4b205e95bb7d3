/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The guest stream: what hostrace-guest sends to the host, by whatever way, and what is in the host's file then.
 * doc/guest-stream.md specifies it. Both sides include this header; it needs nothing but libc.
 *
 *   BEGIN | FORMAT ... | SYMBOLS ... | NAMES ... | PAGE, PAGE, PAGE ... | NAMES ... | STATS ... | END
 *
 * A frame is a head of 16 bytes and its payload. The CRC is over both, so a reader that starts in the middle of a
 * stream finds the next whole frame. Kinds that are unknown are skipped.
 */
#ifndef HOSTRACE_GUEST_STREAM_H
#define HOSTRACE_GUEST_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/crc32c.h"

enum {
	STREAM_VERSION = 1,
	STREAM_HEAD = 16,
	STREAM_PAYLOAD_MAX = 1 << 20,
	STREAM_CPUS_MAX = 4096,
};

#define STREAM_MAGIC   0x46475248u /* "HRGF" */
#define STREAM_GREETING "hostrace guest stream\n" /* what BEGIN begins with */

enum stream_kind {
	STREAM_BEGIN = 1, /* the greeting, then "KEY VALUE\n": version, clock, page_size, long, cpus, ... */
	STREAM_FORMAT,	  /* "SYSTEM\0" and an event's format as tracefs has it */
	STREAM_SYMBOLS,	  /* lines of kallsyms */
	STREAM_NAMES,	  /* "TID COMM\n" */
	STREAM_PAGE,	  /* a page of cpu's ring buffer, without the part that is not used */
	STREAM_STATS,	  /* per_cpu/cpuN/stats as the kernel prints it, once the page before it was the last */
	STREAM_END,	  /* why the agent ended */
	STREAM_KINDS,
};

struct stream_head {
	uint8_t kind;
	uint16_t cpu;
	uint32_t bytes; /* of the payload */
	uint32_t crc;
};

static inline void stream_head_write(uint8_t to[STREAM_HEAD], uint8_t kind, uint16_t cpu,
				     const void *payload, uint32_t bytes)
{
	const uint32_t magic = STREAM_MAGIC;
	uint32_t crc;

	__builtin_memcpy(to, &magic, 4);
	to[4] = kind;
	to[5] = 0;
	__builtin_memcpy(to + 6, &cpu, 2);
	__builtin_memcpy(to + 8, &bytes, 4);
	crc = crc32c(crc32c(0, to, 12), payload, bytes);
	__builtin_memcpy(to + 12, &crc, 4);
}

/* False: no frame can begin with these STREAM_HEAD bytes. The CRC is not looked at. */
static inline bool stream_head_read(const uint8_t *from, struct stream_head *ret)
{
	uint32_t magic;

	__builtin_memcpy(&magic, from, 4);
	ret->kind = from[4];
	__builtin_memcpy(&ret->cpu, from + 6, 2);
	__builtin_memcpy(&ret->bytes, from + 8, 4);
	__builtin_memcpy(&ret->crc, from + 12, 4);
	return magic == STREAM_MAGIC && !from[5] && ret->kind &&
	       ret->bytes <= STREAM_PAYLOAD_MAX;
}

static inline bool stream_crc_right(const uint8_t *head, const void *payload, uint32_t bytes)
{
	uint32_t crc;

	__builtin_memcpy(&crc, head + 12, 4);
	return crc == crc32c(crc32c(0, head, 12), payload, bytes);
}

/* Bytes that the host sends to the agent: one requests the remaining data and END. */
enum { STREAM_STOP = 'S' };

#endif
