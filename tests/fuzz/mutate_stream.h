/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes one frame of a guest stream (guestside/agent/stream.h) and corrects its length and CRC. */
#ifndef HOSTRACE_FUZZ_MUTATE_STREAM_H
#define HOSTRACE_FUZZ_MUTATE_STREAM_H

#include "guestside/agent/stream.h"
#include "mutate.h"

struct frames_found {
	struct piece frame[PIECES_MAX];
	unsigned int nr;
};

static inline struct frames_found frames_find(const uint8_t *data, size_t size)
{
	struct frames_found f = {0};
	struct stream_head h;

	for (size_t at = 0; f.nr < PIECES_MAX && at < size && size - at >= STREAM_HEAD;) {
		if (!stream_head_read(data + at, &h) || size - at - STREAM_HEAD < h.bytes) {
			at++;
			continue;
		}
		f.frame[f.nr++] = (struct piece){at, STREAM_HEAD + h.bytes};
		at += STREAM_HEAD + h.bytes;
	}
	return f;
}

/* Corrects the CRC of every frame. */
static inline void frames_mend(uint8_t *data, size_t size)
{
	struct frames_found f = frames_find(data, size);

	for (unsigned int i = 0; i < f.nr; i++) {
		uint8_t *head = data + f.frame[i].at;
		struct stream_head h;

		stream_head_read(head, &h);
		stream_head_write(head, h.kind, h.cpu, head + STREAM_HEAD, h.bytes);
	}
}

static inline size_t payload_mutate(uint8_t *data, size_t size, size_t max, struct piece frame)
{
	struct piece p = {frame.at + STREAM_HEAD, frame.len - STREAM_HEAD};
	uint8_t *head = data + frame.at;
	struct stream_head h;

	stream_head_read(head, &h);
	size = piece_mutate(data, size, max, &p, false);
	stream_head_write(head, h.kind, h.cpu, head + STREAM_HEAD, (uint32_t)p.len);
	return size;
}

static inline size_t stream_mutate(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	struct frames_found f = frames_find(data, size);
	struct piece p, head;

	if (!f.nr || mutate_chance(&seed, 16))
		return LLVMFuzzerMutate(data, size, max);
	p = f.frame[mutate_random(&seed) % f.nr];
	switch (mutate_random(&seed) % 8) {
	case 0: /* its kind or CPU */
		head = (struct piece){p.at + 4, 4};
		size = piece_mutate(data, size, max, &head, true);
		data[p.at + 5] = 0;
		break;
	case 1:
		size = piece_double(data, size, max, p, f.frame[mutate_random(&seed) % f.nr].at);
		break;
	case 2:
		size = piece_replace(data, size, &p, NULL, 0);
		break;
	default:
		size = payload_mutate(data, size, max, p);
	}
	frames_mend(data, size);
	return size;
}

#endif
