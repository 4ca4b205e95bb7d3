// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The trace file: unchanged, and again with corrected CRCs, since otherwise changed bytes never get past the checks.
 * Offsets as in doc/format.md.
 */
#include <string.h>

#include "base/crc32c.h"
#include "tracefile/format.h"
#include "walk.h"

static void crc_set(uint8_t *at, const uint8_t *from, size_t len)
{
	uint32_t crc = crc32c(0, from, len);

	memcpy(at, &crc, 4);
}

static void chunk_repair(uint8_t *chunk, size_t counts, size_t stored)
{
	crc_set(chunk + 20, chunk + CHUNK_HEADER_SIZE, counts);
	crc_set(chunk + 56, chunk + CHUNK_HEADER_SIZE + counts, stored);
	crc_set(chunk + 60, chunk, 60);
}

static void repair(uint8_t *data, size_t size)
{
	size_t at = TRACE_HEADER_SIZE;

	if (size < TRACE_HEADER_SIZE)
		return;
	crc_set(data + 60, data, 60);
	while (size - at >= CHUNK_HEADER_SIZE && !memcmp(data + at, CHUNK_MAGIC, 4)) {
		size_t left = size - at - CHUNK_HEADER_SIZE;
		uint16_t nr_counts;
		uint32_t stored;

		memcpy(&nr_counts, data + at + 6, 2);
		memcpy(&stored, data + at + 8, 4);
		if ((size_t)nr_counts * COUNT_SIZE + stored > left)
			break;
		chunk_repair(data + at, (size_t)nr_counts * COUNT_SIZE, stored);
		at += (CHUNK_HEADER_SIZE + (size_t)nr_counts * COUNT_SIZE + stored + 7) & ~7ul;
		if (at > size)
			return;
	}
	if (size - at >= TRAILER_SIZE)
		crc_set(data + size - 4, data + size - TRAILER_SIZE, TRAILER_SIZE - 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + !size);

	if (!copy)
		return 0;
	walk_file(&tracefile_reader, data, size);
	memcpy(copy, data, size);
	repair(copy, size);
	walk_file(&tracefile_reader, copy, size);
	free(copy);
	return 0;
}
