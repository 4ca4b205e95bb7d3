/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of protobuf-c into a file. Written one after the other, messages are one merged message, by definition. */
#ifndef HOSTRACE_PROTOBUF_H
#define HOSTRACE_PROTOBUF_H

#include <stdio.h>

#include <protobuf-c/protobuf-c.h>

struct protobuf_file {
	ProtobufCBuffer base;
	FILE *out;
};

static void protobuf_append(ProtobufCBuffer *buffer, size_t len, const uint8_t *data)
{
	fwrite_unlocked(data, 1, len, ((struct protobuf_file *)buffer)->out);
}

/*
 * A message that has not more than `bytes`. A small one is packed in memory: into a buffer each number is an append,
 * and lengths are counted per level.
 */
static inline void protobuf_put_sized(const ProtobufCMessage *message, size_t bytes, FILE *out)
{
	struct protobuf_file file = {{protobuf_append}, out};
	uint8_t small[4096];

	if (bytes > sizeof(small))
		protobuf_c_message_pack_to_buffer(message, &file.base);
	else
		fwrite_unlocked(small, 1, protobuf_c_message_pack(message, small), out);
}

static inline void protobuf_put(const ProtobufCMessage *message, FILE *out)
{
	protobuf_put_sized(message, protobuf_c_message_get_packed_size(message), out);
}

#endif
