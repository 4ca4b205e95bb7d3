/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For mutators that know a format: an input is split into pieces, one of them is changed by libFuzzer, and the input
 * is put together again with right lengths, offsets and CRCs, so that the change is read and not rejected. One input
 * in 16 is changed anywhere and stays as it is.
 */
#ifndef HOSTRACE_FUZZ_MUTATE_H
#define HOSTRACE_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) __attribute__((weak)); /* part of libFuzzer */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed);

enum { PIECES_MAX = 256 };

struct piece {
	size_t at, len;
};

/* xorshift32; each mutation has its own seed. */
static inline uint32_t mutate_random(unsigned int *seed)
{
	*seed = *seed ? *seed : 1;
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* One in so many. */
static inline bool mutate_chance(unsigned int *seed, uint32_t in)
{
	return mutate_random(seed) % in == 0;
}

/* Puts `len` bytes in place of the piece and moves what follows. Returns the new size; it must fit. */
static inline size_t piece_replace(uint8_t *data, size_t size, struct piece *p, const uint8_t *with,
				   size_t len)
{
	memmove(data + p->at + len, data + p->at + p->len, size - p->at - p->len);
	if (len)
		memcpy(data + p->at, with, len);
	size += len - p->len;
	p->len = len;
	return size;
}

/* Inserts a copy of the piece at `to`, if it fits. Returns the new size. */
static inline size_t piece_double(uint8_t *data, size_t size, size_t max, struct piece from,
				  size_t to)
{
	struct piece gap = {to, 0};
	uint8_t *copy = from.len <= max - size ? malloc(from.len) : NULL;

	if (!copy)
		return size;
	memcpy(copy, data + from.at, from.len);
	size = piece_replace(data, size, &gap, copy, from.len);
	free(copy);
	return size;
}

/* Changes a piece; its length too, unless `fixed`. Returns the new size. */
static inline size_t piece_mutate(uint8_t *data, size_t size, size_t max, struct piece *p,
				  bool fixed)
{
	size_t room = fixed ? p->len : p->len + (max - size), len;
	uint8_t *copy = calloc(1, room + 1);

	if (!copy)
		abort();
	memcpy(copy, data + p->at, p->len);
	len = room ? LLVMFuzzerMutate(copy, p->len, room) : 0;
	if (fixed && len < p->len)
		memset(copy + len, 0, p->len - len);
	size = piece_replace(data, size, p, copy, fixed ? p->len : len);
	free(copy);
	return size;
}

#endif
