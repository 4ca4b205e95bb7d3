// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "tracefile/format.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "trace files are little-endian, and so is the code");

static void put(uint8_t **p, const void *from, size_t len)
{
	memcpy(*p, from, len);
	*p += len;
}

/* Every structure ends with the CRC of the bytes before it. */
static void put_crc(uint8_t *start, size_t size)
{
	uint32_t crc = crc32c(0, start, size - 4);

	memcpy(start + size - 4, &crc, 4);
}

static bool crc_ok(const uint8_t *start, size_t size)
{
	uint32_t crc;

	memcpy(&crc, start + size - 4, 4);
	return crc == crc32c(0, start, size - 4);
}

void trace_header_encode(const struct trace_header *h, uint8_t out[TRACE_HEADER_SIZE])
{
	uint16_t version = TRACE_VERSION, size = TRACE_HEADER_SIZE;
	uint8_t *p = out;

	memset(out, 0, TRACE_HEADER_SIZE);
	put(&p, TRACE_MAGIC, 8);
	put(&p, &version, 2);
	put(&p, &size, 2);
	p += 4; /* flags: none yet */
	put(&p, &h->start_monotonic_ns, 8);
	put(&p, &h->start_realtime_ns, 8);
	put(&p, h->id, 16);
	put_crc(out, TRACE_HEADER_SIZE);
}

int trace_header_decode(const uint8_t *in, size_t len, const char *file, struct trace_header *ret)
{
	struct buffer b = buffer_of(in, len, file, 0);
	const uint8_t *magic = buffer_bytes(&b, 8), *id;
	uint16_t version = buffer_u16(&b), size = buffer_u16(&b);

	buffer_u32(&b);
	ret->start_monotonic_ns = buffer_u64(&b);
	ret->start_realtime_ns = buffer_u64(&b);
	id = buffer_bytes(&b, 16);
	if (!magic || memcmp(magic, TRACE_MAGIC, 8))
		return fail(-EBADMSG, "%s is not a hostrace trace file", file);
	if (len < TRACE_HEADER_SIZE)
		return fail(-EBADMSG, "%s is truncated within its header (%zu of %d bytes)", file,
			    len, TRACE_HEADER_SIZE);
	if (!crc_ok(in, TRACE_HEADER_SIZE))
		return fail(-EBADMSG, "%s: corrupt header (CRC mismatch)", file);
	if (version != TRACE_VERSION || size != TRACE_HEADER_SIZE)
		return fail(-ENOTSUP,
			    "%s: unsupported format version %u; this hostrace reads version %d",
			    file, version, TRACE_VERSION);
	memcpy(ret->id, id, 16);
	return 0;
}

void chunk_header_encode(const struct chunk_header *h, uint8_t out[CHUNK_HEADER_SIZE])
{
	uint8_t *p = out;

	put(&p, CHUNK_MAGIC, 4);
	put(&p, &h->kind, 1);
	put(&p, &h->encoding, 1);
	put(&p, &h->nr_counts, 2);
	put(&p, &h->stored, 4);
	put(&p, &h->raw, 4);
	put(&p, &h->nr_records, 4);
	put(&p, &h->counts_crc, 4);
	put(&p, &h->first_ns, 8);
	put(&p, &h->last_ns, 8);
	put(&p, &h->watermark_ns, 8);
	put(&p, &h->types_bloom, 8);
	put(&p, &h->payload_crc, 4);
	put_crc(out, CHUNK_HEADER_SIZE);
}

/* A zstd payload is smaller than what it unpacks to, else it is stored raw: so `stored` is bounded by `raw`. */
static bool lengths_ok(const struct chunk_header *h)
{
	uint32_t limit = h->kind == CHUNK_RECORDS ? RECORDS_RAW_MAX : OTHER_RAW_MAX;

	return h->raw <= limit && h->stored <= h->raw && (h->encoding || h->stored == h->raw);
}

bool chunk_header_decode(const uint8_t in[CHUNK_HEADER_SIZE], struct chunk_header *ret)
{
	struct buffer b = buffer_of(in, CHUNK_HEADER_SIZE, "", 0);
	const uint8_t *magic = buffer_bytes(&b, 4);

	if (memcmp(magic, CHUNK_MAGIC, 4) || !crc_ok(in, CHUNK_HEADER_SIZE))
		return false;
	ret->kind = buffer_u8(&b);
	ret->encoding = buffer_u8(&b);
	ret->nr_counts = buffer_u16(&b);
	ret->stored = buffer_u32(&b);
	ret->raw = buffer_u32(&b);
	ret->nr_records = buffer_u32(&b);
	ret->counts_crc = buffer_u32(&b);
	ret->first_ns = buffer_u64(&b);
	ret->last_ns = buffer_u64(&b);
	ret->watermark_ns = buffer_u64(&b);
	ret->types_bloom = buffer_u64(&b);
	ret->payload_crc = buffer_u32(&b);
	return lengths_ok(ret);
}

void trace_trailer_encode(const struct trace_trailer *t, uint8_t out[TRAILER_SIZE])
{
	uint8_t *p = out;

	memset(out, 0, TRAILER_SIZE);
	put(&p, TRAILER_MAGIC, 8);
	put(&p, &t->index_offset, 8);
	put(&p, &t->nr_index, 4);
	put_crc(out, TRAILER_SIZE);
}

bool trace_trailer_decode(const uint8_t in[TRAILER_SIZE], struct trace_trailer *ret)
{
	struct buffer b = buffer_of(in, TRAILER_SIZE, "", 0);

	if (memcmp(buffer_bytes(&b, 8), TRAILER_MAGIC, 8) || !crc_ok(in, TRAILER_SIZE))
		return false;
	ret->index_offset = buffer_u64(&b);
	ret->nr_index = buffer_u32(&b);
	return true;
}
