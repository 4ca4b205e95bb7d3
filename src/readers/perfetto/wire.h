/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the fields of a message of protobuf (https://protobuf.dev/programming-guides/encoding/) without memory. A
 * Perfetto trace is one message, so is each bundle of events; protobuf-c unpacks only the small ones in them.
 */
#ifndef HOSTRACE_PERFETTO_WIRE_H
#define HOSTRACE_PERFETTO_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_type { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

struct wire {
	const uint8_t *pos, *end;
	bool bad; /* what follows pos is no field */

	uint32_t field; /* the one that wire_next() found */
	enum wire_type type;
	uint64_t number;      /* of WIRE_VARINT, WIRE_FIXED*; of WIRE_BYTES their length */
	const uint8_t *bytes; /* of WIRE_BYTES; NULL else */
};

static inline struct wire wire_of(const uint8_t *bytes, size_t len)
{
	return (struct wire){.pos = bytes, .end = bytes + len};
}

/* The next field; false: at the end, or `bad`, and pos is unchanged. */
bool wire_next(struct wire *w);

/* The next number of a packed field; false as above. */
bool wire_varint(struct wire *w, uint64_t *ret);

#endif
