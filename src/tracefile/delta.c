// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "record.h"
#include "tracefile/delta.h"
#include "tracefile/varint.h"

enum {
	SLOTS = 128,	   /* records that the next ones are compared with */
	SLOT_MASK = SLOTS - 1,
	FRESH = 0x80,	   /* flag: the slot is compared with zeros, and its length follows */
	WORD = 8,
	WORDS_MAX = 65528 / WORD,
};

struct slot {
	size_t at;	    /* offset of this slot's record */
	unsigned int words; /* its length; 0: there is none yet */
};

static uint64_t word_get(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, WORD);
	return v;
}

static void word_put(uint8_t *p, uint64_t v)
{
	memcpy(p, &v, WORD);
}

/* ---- packing ---- */

/* Any choice is valid for the reader; this one gives a thread's types slots of their own. */
static unsigned int slot_of(const struct record_hdr *h)
{
	return (h->tid * 8u + h->type * 3u) & SLOT_MASK;
}

static uint8_t *words_pack(const uint8_t *rec, const uint8_t *last, unsigned int words,
			   uint64_t time, uint8_t *out)
{
	uint8_t *mask = out;

	out += (words + 7) / 8;
	memset(mask, 0, (size_t)(out - mask));
	for (unsigned int i = 0; i < words; i++) {
		uint64_t from = i ? last ? word_get(last + i * WORD) : 0 : time;
		uint64_t diff = word_get(rec + i * WORD) - from;

		if (!diff)
			continue;
		mask[i / 8] |= (uint8_t)(1u << i % 8);
		out = varint_put(out, zigzag(diff));
	}
	return out;
}

size_t delta_pack(const uint8_t *records, size_t len, uint8_t *out)
{
	struct slot slots[SLOTS] = {0};
	const uint8_t *end = out + len;
	uint8_t *p = out;
	uint64_t time = 0;
	struct record_hdr h;

	for (size_t at = 0; at < len; at += h.size) {
		if (len - at < sizeof(h))
			return 0;
		memcpy(&h, records + at, sizeof(h));
		if (h.size < sizeof(h) || h.size % WORD || h.size > len - at)
			return 0;
		unsigned int words = h.size / WORD, nr = slot_of(&h);
		struct slot *s = &slots[nr];
		bool fresh = s->words != words;
		size_t need = 1 + VARINT_MAX + (words + 7) / 8 + (size_t)words * VARINT_MAX;

		if (need > (size_t)(end - p))
			return 0;
		*p++ = (uint8_t)(nr | (fresh ? FRESH : 0));
		if (fresh)
			p = varint_put(p, words);
		p = words_pack(records + at, fresh ? NULL : records + s->at, words, time, p);
		*s = (struct slot){at, words};
		time = h.time;
	}
	return (size_t)(p - out);
}

/* ---- unpacking: the input is untrusted ---- */

/* rec already contains the record to compare with. */
static void words_unpack(struct varints *in, uint8_t *rec, unsigned int words)
{
	const uint8_t *mask = in->p;
	size_t mask_len = (words + 7) / 8;

	if (mask_len > (size_t)(in->end - in->p)) {
		in->broken = true;
		return;
	}
	in->p += mask_len;
	for (unsigned int base = 0; base < words; base += 8)
		for (unsigned int bits = mask[base / 8]; bits; bits &= bits - 1) {
			unsigned int i = base + (unsigned int)__builtin_ctz(bits);

			if (i >= words) {
				in->broken = true;
				return;
			}
			uint8_t *w = rec + (size_t)i * WORD;

			word_put(w, word_get(w) + unzigzag(varint_get(in)));
		}
}

bool delta_unpack(const uint8_t *from, size_t len, uint8_t *out, size_t raw)
{
	struct slot slots[SLOTS] = {0};
	struct varints in = {from, from + len, false};
	uint64_t time = 0, words;

	for (size_t at = 0; at < raw; at += words * WORD) {
		unsigned int head = byte_get(&in);
		struct slot *s = &slots[head & SLOT_MASK];

		words = head & FRESH ? varint_get(&in) : s->words;
		if (in.broken || !words || words > WORDS_MAX || words * WORD > raw - at)
			return false;
		if (head & FRESH)
			memset(out + at, 0, words * WORD);
		else
			memcpy(out + at, out + s->at, words * WORD);
		word_put(out + at, time);
		words_unpack(&in, out + at, (unsigned int)words);
		if (in.broken)
			return false;
		*s = (struct slot){at, (unsigned int)words};
		time = word_get(out + at);
	}
	return in.p == in.end;
}
