/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing protobuf's wire format: a message is a run of fields, each a tag (number << 3 | wire type) and a value; a
 * nested message is a field of bytes. A message that outgrows its buffer is marked and must not be used.
 * https://protobuf.dev/programming-guides/encoding/
 */
#ifndef HOSTRACE_PROTOBUF_H
#define HOSTRACE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PB_BYTES = 2048 }; /* of one message */

struct pb {
	uint8_t data[PB_BYTES];
	size_t len;
	bool full;
};

static inline void pb_raw(struct pb *pb, const void *data, size_t len)
{
	if (len > PB_BYTES - pb->len) {
		pb->full = true;
		return;
	}
	memcpy(pb->data + pb->len, data, len);
	pb->len += len;
}

static inline void pb_varint(struct pb *pb, uint64_t v)
{
	uint8_t bytes[10];
	size_t n = 0;

	for (; v > 0x7f; v >>= 7)
		bytes[n++] = (uint8_t)(v | 0x80);
	bytes[n++] = (uint8_t)v;
	pb_raw(pb, bytes, n);
}

static inline void pb_uint(struct pb *pb, unsigned int field, uint64_t v)
{
	pb_varint(pb, field << 3 | 0);
	pb_varint(pb, v);
}

static inline void pb_fixed64(struct pb *pb, unsigned int field, uint64_t v)
{
	pb_varint(pb, field << 3 | 1);
	pb_raw(pb, &v, sizeof(v)); /* little-endian, as this machine */
}

static inline void pb_bytes(struct pb *pb, unsigned int field, const void *data, size_t len)
{
	pb_varint(pb, field << 3 | 2);
	pb_varint(pb, len);
	pb_raw(pb, data, len);
}

static inline void pb_text(struct pb *pb, unsigned int field, const char *text)
{
	pb_bytes(pb, field, text, strlen(text));
}

static inline void pb_message(struct pb *pb, unsigned int field, const struct pb *message)
{
	pb->full |= message->full;
	pb_bytes(pb, field, message->data, message->len);
}

#endif
