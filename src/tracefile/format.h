/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a .hrt file, version 1, as doc/format.md specifies them: numbers and layouts only. Included by
 * the parts of the writer and the reader only.
 *
 *   file header | chunk | chunk | ... | index chunk ... | trailer
 *   chunk       = chunk header, table of counts, payload, zeros up to a multiple of 8
 */
#ifndef HOSTRACE_TRACEFILE_FORMAT_H
#define HOSTRACE_TRACEFILE_FORMAT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

#define TRACE_MAGIC   "HOSTRACE"
#define CHUNK_MAGIC   "HRCK"

enum {
	TRACE_VERSION = 1,
	NR_TYPE_IDS = 1 << 16, /* of the types of records */
	TRACE_HEADER_SIZE = 64,
	CHUNK_HEADER_SIZE = 64,
	COUNT_SIZE = 8,	       /* u64: type in the low 16 bits, records of it above */
	INDEX_ENTRY_SIZE = 72, /* u64 offset and a copy of the chunk's header */
	TRAILER_SIZE = 32,

	RECORDS_RAW_MAX = 1 << 20, /* bytes of a records chunk, decompressed */
	OTHER_RAW_MAX = 16 << 20,  /* of any other chunk */
	INDEX_ENTRIES_MAX = OTHER_RAW_MAX / INDEX_ENTRY_SIZE, /* in one index chunk */
};

enum chunk_kind {
	CHUNK_SCHEMA = 1,
	CHUNK_META = 2,
	CHUNK_RECORDS = 3,
	CHUNK_INDEX = 4,
};

enum chunk_encoding {
	ENCODING_RAW = 0,
	ENCODING_ZSTD = 1,
	ENCODING_DELTA = 2,	 /* records chunks only; see tracefile_delta.h */
	ENCODING_DELTA_ZSTD = 3, /* the same in a zstd frame */
	ENCODING_COLUMNS = 4,	 /* records chunks only; see tracefile_columns.h */
	ENCODING_COLUMNS_ZSTD = 5,
};

struct trace_header {
	uint64_t start_monotonic_ns, start_realtime_ns;
	uint8_t id[16];
};

struct chunk_header {
	uint8_t kind, encoding;
	uint16_t nr_counts;
	uint32_t stored, raw; /* payload bytes in the file; decompressed */
	uint32_t nr_records;
	uint32_t counts_crc, payload_crc;
	uint64_t first_ns, last_ns, watermark_ns;
	uint64_t types_bloom; /* bit type_bloom_bit() is set for every type in it */
};

struct chunk_count {
	uint16_t type;
	uint64_t count; /* below 1 << 48 */
};

struct trace_trailer {
	uint64_t index_offset; /* first index chunk */
	uint32_t nr_index;     /* index chunks */
};

void trace_header_encode(const struct trace_header *h, uint8_t out[TRACE_HEADER_SIZE]);

/* -EBADMSG: no such magic, bad CRC; -ENOTSUP: another version. Sets the error message with `file`. */
int trace_header_decode(const uint8_t *in, size_t len, const char *file, struct trace_header *ret);

void chunk_header_encode(const struct chunk_header *h, uint8_t out[CHUNK_HEADER_SIZE]);

/* Is it a sound header: magic, CRC and every length within its limit? */
bool chunk_header_decode(const uint8_t in[CHUNK_HEADER_SIZE], struct chunk_header *ret);

void trace_trailer_encode(const struct trace_trailer *t, uint8_t out[TRAILER_SIZE]);
bool trace_trailer_decode(const uint8_t in[TRAILER_SIZE], struct trace_trailer *ret);

/* Bytes of the whole chunk in the file, padding included. */
static inline uint64_t chunk_length(const struct chunk_header *h)
{
	uint64_t len = CHUNK_HEADER_SIZE + (uint64_t)h->nr_counts * COUNT_SIZE + h->stored;

	return (len + 7) & ~7ull;
}

static inline uint64_t type_bloom_bit(uint16_t type)
{
	return 1ull << (type % 64);
}

/*
 * A name as it may stand in a schema and in a line of text: control bytes, broken UTF-8 and what would split a line
 * (space, '=', '"') are replaced. Returns buf, or name itself where nothing had to be.
 */
const char *schema_name(const char *name, char buf[EVENT_NAME_MAX]);

/* For event_type_numbers_convert(): a file's id of a type as event.h has it. arg: its types, NR_TYPE_IDS, by id. */
uint32_t schema_number_of_id(void *arg, uint64_t id);

/* New reference; `id` is skipped if it is 0. NULL: out of memory. */
json_t *schema_from_type(const struct event_type *type, uint16_t id);

/* Registers the type declared by one such object. -EINVAL with an error message that starts with `where`. */
int schema_to_type(const json_t *json, const char *where, const struct event_type **ret,
		   uint16_t *ret_id);

/*
 * Reads the open file, which is untrusted. `file` names it in errors. 0 and an object (doc/format.md), or -errno with
 * the error message set.
 */
int trace_meta_read(int fd, const char *file, json_t **ret);

#endif
