// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads varints, fixed numbers and bytes, and ends at the first that is not whole or not valid. */
#include <string.h>

#include "readers/perfetto/wire.h"

enum { FIELD_MAX = 1 << 29 };

static const uint8_t *varint(const uint8_t *p, const uint8_t *end, uint64_t *ret)
{
	*ret = 0;
	for (unsigned int shift = 0; p < end && shift < 64; shift += 7) {
		*ret |= (uint64_t)(*p & 0x7f) << shift;
		if (!(*p++ & 0x80))
			return p;
	}
	return NULL;
}

/* After the tag: the value, and what follows it; NULL: it is none. */
static const uint8_t *value(struct wire *w, const uint8_t *p)
{
	size_t left = (size_t)(w->end - p), fixed = w->type == WIRE_FIXED64 ? 8 : 4;

	w->bytes = NULL;
	w->number = 0;
	if (w->type == WIRE_VARINT)
		return varint(p, w->end, &w->number);
	if (w->type == WIRE_FIXED64 || w->type == WIRE_FIXED32) {
		if (left < fixed)
			return NULL;
		memcpy(&w->number, p, fixed);
		return p + fixed;
	}
	p = w->type == WIRE_BYTES ? varint(p, w->end, &w->number) : NULL;
	if (!p || w->number > (size_t)(w->end - p))
		return NULL;
	w->bytes = p;
	return p + w->number;
}

bool wire_next(struct wire *w)
{
	const uint8_t *p;
	uint64_t tag;

	if (w->bad || w->pos == w->end)
		return false;
	p = varint(w->pos, w->end, &tag);
	if (p) {
		w->type = tag & 7;
		w->field = (uint32_t)(tag >> 3);
		p = tag >> 3 && tag >> 3 < FIELD_MAX ? value(w, p) : NULL;
	}
	w->bad = !p;
	w->pos = p ? p : w->pos;
	return p != NULL;
}

bool wire_varint(struct wire *w, uint64_t *ret)
{
	const uint8_t *p = w->bad || w->pos == w->end ? NULL : varint(w->pos, w->end, ret);

	w->bad |= !p && w->pos != w->end;
	w->pos = p ? p : w->pos;
	return p != NULL;
}
