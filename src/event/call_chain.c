// SPDX-License-Identifier: GPL-2.0-or-later
/* Declares the types of perf's call chains: of as many fields as a type may have; a record may have more frames. */
#include <stdio.h>
#include <string.h>

#include "event/call_chain.h"

enum { FRAMES = CALL_CHAIN_FRAMES_SHOWN };

_Static_assert((int)FRAMES < (int)EVENT_FIELDS_MAX, "a field for each frame, and their number");

static const struct event_type *chain_register(bool guest, const struct field *field,
					       uint16_t nr, uint16_t size)
{
	const struct event_type *type;
	const struct event_type made = {
		.name = guest ? "guest:call_chain" : "perf:call_chain",
		.doc = "the call chain of the sample before it",
		.fields = field,
		.nr_fields = nr,
		.size = size,
	};

	return event_type_register(&made, &type) ? NULL : type;
}

const struct event_type *call_chain_type(bool guest, bool text)
{
	struct field field[1 + FRAMES];
	char name[FRAMES][12];

	field[0] = (struct field){.name = "text", .fmt = "text", .doc = "", .kind = FIELD_DYNTEXT,
				  .offset = offsetof(struct call_chain, size), .size = 4};
	if (text)
		return chain_register(guest, field, 1, offsetof(struct call_chain, frame));
	field[0] = (struct field){.name = "size", .fmt = "dec", .doc = "frames", .kind = FIELD_UINT,
				  .offset = offsetof(struct call_chain, size), .size = 4};
	for (int i = 0; i < FRAMES; i++) {
		snprintf(name[i], sizeof(name[i]), "frame%d", i);
		field[1 + i] = (struct field){
			.name = name[i],
			.fmt = "frame",
			.doc = "return address",
			.kind = FIELD_UINT,
			.offset = (uint16_t)(offsetof(struct call_chain, frame) + 8 * i),
			.size = 8};
	}
	return chain_register(guest, field, 1 + FRAMES, CALL_CHAIN_RECORD_MIN);
}

size_t call_chain_put_text(const char *text, size_t len, uint8_t *record)
{
	const size_t from = offsetof(struct call_chain, frame), size = (from + len + 8) & ~7ul;
	const uint32_t place = (uint32_t)(len << 16 | from);

	memset(record, 0, from);
	memcpy(record + offsetof(struct call_chain, size), &place, sizeof(place));
	memcpy(record + from, text, len);
	memset(record + from + len, 0, size - from - len);
	return size;
}
