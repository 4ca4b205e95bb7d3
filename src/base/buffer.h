/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bounded cursor over untrusted bytes. Every byte of a file, a guest or the network is read through it: a getter that
 * would pass the end returns 0 and marks the buffer as cut; the caller checks once at the end of a structure
 * (buffer_ok). Untrusted bytes are never cast to a struct.
 */
#ifndef HOSTRACE_BUFFER_H
#define HOSTRACE_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct buffer {
	const uint8_t *start, *pos, *end;
	const char *file;   /* for messages; not owned */
	uint64_t offset;    /* of `start` within the file */
	bool cut;	    /* a getter would have passed the end */
};

static inline struct buffer buffer_of(const void *data, size_t len, const char *file,
				      uint64_t offset)
{
	const uint8_t *p = data;

	return (struct buffer){
		.start = p, .pos = p, .end = p + len, .file = file, .offset = offset};
}

static inline size_t buffer_left(const struct buffer *b)
{
	return (size_t)(b->end - b->pos);
}

static inline uint64_t buffer_tell(const struct buffer *b)
{
	return b->offset + (uint64_t)(b->pos - b->start);
}

/* The next len bytes, borrowed; NULL (and cut) if there are fewer. */
static inline const uint8_t *buffer_bytes(struct buffer *b, size_t len)
{
	const uint8_t *p = b->pos;

	if (buffer_left(b) < len) {
		b->cut = true;
		return NULL;
	}
	b->pos += len;
	return p;
}

static inline uint64_t buffer_le(struct buffer *b, size_t len)
{
	const uint8_t *p = buffer_bytes(b, len);
	uint64_t v = 0;

	if (p)
		memcpy(&v, p, len); /* little-endian hosts only; the Makefile rejects others */
	return v;
}

static inline uint8_t buffer_u8(struct buffer *b)
{
	return (uint8_t)buffer_le(b, 1);
}

static inline uint16_t buffer_u16(struct buffer *b)
{
	return (uint16_t)buffer_le(b, 2);
}

static inline uint32_t buffer_u32(struct buffer *b)
{
	return (uint32_t)buffer_le(b, 4);
}

static inline uint64_t buffer_u64(struct buffer *b)
{
	return buffer_le(b, 8);
}

/* 0, or -EBADMSG with the error message "FILE: offset N: WHAT is truncated". */
int buffer_ok(const struct buffer *b, const char *what);

/* Sets the error message "FILE: offset N: ..." and returns -EBADMSG. */
int buffer_fail(const struct buffer *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
