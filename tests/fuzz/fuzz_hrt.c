// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The trace file. The mutator changes one chunk and then makes lengths, CRCs, the index and the trailer right again.
 * Offsets as in doc/format.md.
 */
#include <fcntl.h>
#include <string.h>

#include "base/crc32c.h"
#include "exporter/page.h"
#include "mutate.h"
#include "tracefile/format.h"
#include "walk.h"

enum {
	KIND = 4, ENCODING = 5, NR_COUNTS = 6, STORED = 8, RAW = 12, COUNTS_CRC = 20, /* in a chunk's header */
	PAYLOAD_CRC = 56,
	HEADER_CRC = 60,
};

struct layout {
	size_t chunk[PIECES_MAX]; /* where each begins */
	unsigned int nr;
	size_t end; /* of the last */
};

static uint32_t u32_at(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static size_t counts_bytes(const uint8_t *chunk)
{
	return (size_t)(chunk[NR_COUNTS] | chunk[NR_COUNTS + 1] << 8) * COUNT_SIZE;
}

static size_t chunk_bytes(const uint8_t *chunk)
{
	return (CHUNK_HEADER_SIZE + counts_bytes(chunk) + u32_at(chunk + STORED) + 7) & ~(size_t)7;
}

static struct layout layout_of(const uint8_t *data, size_t size)
{
	struct layout l = {.end = TRACE_HEADER_SIZE};

	while (l.nr < PIECES_MAX && l.end < size && size - l.end >= CHUNK_HEADER_SIZE &&
	       !memcmp(data + l.end, CHUNK_MAGIC, 4) && chunk_bytes(data + l.end) <= size - l.end) {
		l.chunk[l.nr++] = l.end;
		l.end += chunk_bytes(data + l.end);
	}
	return l;
}

static void crc_set(uint8_t *at, const uint8_t *from, size_t len)
{
	uint32_t crc = crc32c(0, from, len);

	memcpy(at, &crc, 4);
}

static void chunk_repair(uint8_t *chunk)
{
	size_t counts = counts_bytes(chunk);
	uint32_t stored = u32_at(chunk + STORED);

	if (chunk[ENCODING] == ENCODING_RAW)
		memcpy(chunk + RAW, &stored, 4);
	crc_set(chunk + COUNTS_CRC, chunk + CHUNK_HEADER_SIZE, counts);
	crc_set(chunk + PAYLOAD_CRC, chunk + CHUNK_HEADER_SIZE + counts, stored);
	crc_set(chunk + HEADER_CRC, chunk, HEADER_CRC);
}

/* The entries of an index chunk are those of the first chunks; it keeps its length. */
static void index_repair(uint8_t *data, const struct layout *l, size_t at)
{
	uint8_t *entry = data + at + CHUNK_HEADER_SIZE + counts_bytes(data + at);
	unsigned int nr = u32_at(data + at + STORED) / INDEX_ENTRY_SIZE;

	for (unsigned int i = 0; i < nr && l->chunk[i] < at; i++, entry += INDEX_ENTRY_SIZE) {
		uint64_t offset = l->chunk[i];

		memcpy(entry, &offset, 8);
		memcpy(entry + 8, data + offset, CHUNK_HEADER_SIZE);
	}
}

/* After the last chunk is a trailer: it points to the index. */
static void repair(uint8_t *data, size_t size)
{
	struct layout l = layout_of(data, size);
	struct trace_trailer trailer = {0};

	if (size < TRACE_HEADER_SIZE)
		return;
	crc_set(data + TRACE_HEADER_SIZE - 4, data, TRACE_HEADER_SIZE - 4);
	for (unsigned int i = 0; i < l.nr; i++) {
		uint8_t *chunk = data + l.chunk[i];

		if (chunk[KIND] == CHUNK_INDEX && chunk[ENCODING] == ENCODING_RAW) {
			index_repair(data, &l, l.chunk[i]);
			trailer.index_offset =
				trailer.nr_index++ ? trailer.index_offset : l.chunk[i];
		}
		chunk_repair(chunk);
	}
	if (size - l.end == TRAILER_SIZE && trailer.nr_index)
		trace_trailer_encode(&trailer, data + l.end);
}

/* A new length of the payload: padded to a multiple of 8. */
static size_t payload_mutate(uint8_t *data, size_t size, size_t max, size_t at)
{
	size_t head = CHUNK_HEADER_SIZE + counts_bytes(data + at), whole = chunk_bytes(data + at);
	uint32_t stored = u32_at(data + at + STORED);
	struct piece p = {at + head, stored}, pad = {0};
	static const uint8_t zeros[8];

	if (max - size < 8)
		return piece_mutate(data, size, max, &p, true);
	size = piece_mutate(data, size, max - 8, &p, false);
	pad = (struct piece){p.at + p.len, whole - head - stored};
	size = piece_replace(data, size, &pad, zeros, -(head + p.len) & 7);
	stored = (uint32_t)p.len;
	memcpy(data + at + STORED, &stored, 4);
	return size;
}

static size_t chunk_double(uint8_t *data, size_t size, size_t max, size_t from, size_t to)
{
	size_t len = chunk_bytes(data + from);
	struct piece gap = {to, 0};
	uint8_t *copy = len <= max - size ? malloc(len) : NULL;

	if (!copy)
		return size;
	memcpy(copy, data + from, len);
	size = piece_replace(data, size, &gap, copy, len);
	free(copy);
	return size;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	struct layout l = layout_of(data, size);
	struct piece p = {0, TRACE_HEADER_SIZE};
	uint8_t magic[] = CHUNK_MAGIC;

	if (!l.nr || mutate_chance(&seed, 16))
		return LLVMFuzzerMutate(data, size, max);
	size_t at = l.chunk[mutate_random(&seed) % l.nr],
	       other = l.chunk[mutate_random(&seed) % l.nr];

	switch (mutate_random(&seed) % 8) {
	case 0: /* the file's header or a chunk's */
		p.at = mutate_chance(&seed, 8) ? 0 : at;
		size = piece_mutate(data, size, max, &p, true);
		memcpy(data + p.at, p.at ? (const char *)magic : TRACE_MAGIC, p.at ? 4 : 8);
		break;
	case 1:
		p = (struct piece){at + CHUNK_HEADER_SIZE, counts_bytes(data + at)};
		size = piece_mutate(data, size, max, &p, true);
		break;
	case 2:
		size = chunk_double(data, size, max, at, other);
		break;
	case 3:
		p = (struct piece){at, chunk_bytes(data + at)};
		size = piece_replace(data, size, &p, NULL, 0);
		break;
	default:
		size = payload_mutate(data, size, max, at);
	}
	repair(data, size);
	return size;
}

/* As the exporter reads a dump. */
static void walk_dump(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct exported_dump dump;
	json_t *meta = NULL;

	if (!trace_meta_read(fd, "dump", &meta)) {
		if (exported_dump_parse(meta, &dump) && (!dump.value_ns || dump.pid <= 0))
			abort();
		json_decref(meta);
	}
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	walk_file(&tracefile_reader, data, size);
	walk_file(&tracefile_live_reader, data, size);
	walk_dump(walk_path(data, size));
	return 0;
}
