// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records in the order of the file. `perf record -z` packs runs of them into COMPRESSED records, all in one zstd
 * stream; a record may begin in one of these and end in the next. The stream's window is the most memory that a
 * perf.data can need: it exists from the first COMPRESSED record to the end of the data.
 */
#include <errno.h>
#include <inttypes.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "readers/perf/perfdata_scan.h"

enum {
	BLOCK = 256 << 10, /* of the file; of what is unpacked */
	HEAD = 8,	   /* u32 type, u16 misc, u16 size */
	WINDOW_LOG_MAX = 27, /* that of perf record -z22 (128 MiB); of the default, -z1, it is 19 */
};

int perfdata_stream_init(struct perfdata_stream *s, struct perfdata_file *f,
			 struct ftrace_events *events, size_t block_bytes)
{
	*s = (struct perfdata_stream){.file = f, .events = events, .at = f->data_at,
				      .block_bytes = block_bytes ? block_bytes : BLOCK};
	if (f->directory)
		return perfdata_parts_open(f, events, &s->parts);
	s->block = malloc(s->block_bytes);
	s->plain = malloc(s->block_bytes);
	return s->block && s->plain ? 0 : fail(-ENOMEM, "%s: out of memory", f->path);
}

void perfdata_stream_deinit(struct perfdata_stream *s)
{
	perfdata_parts_close(s->parts);
	free(s->block);
	free(s->plain);
	ZSTD_freeDStream(s->zstd);
	*s = (struct perfdata_stream){0};
}

/* At least `want` bytes from s->next on: 1, 0 if the data ends before, -errno. s->at: offset of the block's end. */
static int block_fill(struct perfdata_stream *s, size_t want)
{
	size_t have = s->len - s->next, room;
	uint64_t left = s->file->data_end - s->at;
	int err;

	if (have >= want)
		return 1;
	if (left < want - have)
		return 0;
	memmove(s->block, s->block + s->next, have);
	room = s->block_bytes - have;
	room = left < room ? (size_t)left : room;
	err = perfdata_load(s->file, s->at, room, s->block + have);
	if (err)
		return err;
	s->next = 0;
	s->len = have + room;
	s->at += room;
	return 1;
}

static uint64_t block_offset(const struct perfdata_stream *s)
{
	return s->at - (s->len - s->next);
}

/* Passes over data that is between two records. */
static void skip(struct perfdata_stream *s, uint64_t len)
{
	uint64_t have = s->len - s->next, left = s->file->data_end - s->at;

	if (len <= have) {
		s->next += len;
		return;
	}
	s->next = s->len;
	s->cut |= len - have > left;
	s->at += len - have > left ? left : len - have;
}

/* The record that begins at `p`, if it is all there (len bytes). 1, 0, or -EBADMSG. */
static int record_at(const struct perfdata_stream *s, const uint8_t *p, size_t len, uint64_t offset,
		     struct perfdata_record *ret)
{
	uint16_t size;

	if (len < HEAD)
		return 0;
	memcpy(&ret->type, p, 4);
	memcpy(&ret->misc, p + 4, 2);
	memcpy(&size, p + 6, 2);
	if (size < HEAD)
		return fail(-EBADMSG,
			    "%s: offset %" PRIu64 ": invalid record size %u",
			    s->file->path, offset, size);
	ret->data = p + HEAD;
	ret->len = (size_t)size - HEAD;
	ret->offset = offset + HEAD;
	return len >= size;
}

/* ---- packed records ---- */

static int packed_begin(struct perfdata_stream *s, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, s->file->path, rec->offset);
	size_t len = rec->len;

	if (rec->type == PERFDATA_COMPRESSED2) { /* padded: it contains its length */
		uint64_t said = buffer_u64(&b);

		if (b.cut || said > buffer_left(&b))
			return buffer_fail(&b, "a compressed record exceeds its own size");
		len = (size_t)said;
	}
	if (!s->zstd) {
		s->zstd = ZSTD_createDStream();
		if (!s->zstd)
			return fail(-ENOMEM, "%s: out of memory", s->file->path);
		ZSTD_DCtx_setParameter(s->zstd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX);
	}
	s->packed_left = len;
	s->packed_end = s->next;
	s->next = (size_t)(b.pos - s->block);
	return 0;
}

static int packed_fail(const struct perfdata_stream *s, size_t status)
{
	if (ZSTD_isError(status) &&
	    ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge)
		return fail(-EBADMSG,
			    "%s: offset %" PRIu64
			    ": the compressed data needs a window of more than %d MiB, which "
			    "perf record -z does not write: record again, with -z or without",
			    s->file->path, block_offset(s), 1 << (WINDOW_LOG_MAX - 20));
	return fail(-EBADMSG, "%s: offset %" PRIu64 ": cannot decompress data", s->file->path,
		    block_offset(s));
}

/* Unpacks as much as there is space for. */
static int packed_take(struct perfdata_stream *s)
{
	size_t have = s->plain_len - s->plain_next, status;
	ZSTD_inBuffer in = {s->block + s->next, s->packed_left, 0};
	ZSTD_outBuffer out = {s->plain, s->block_bytes, have};

	memmove(s->plain, s->plain + s->plain_next, have);
	s->plain_next = 0;
	status = ZSTD_decompressStream(s->zstd, &out, &in);
	if (ZSTD_isError(status) || (s->packed_left && !in.pos && out.pos == have))
		return packed_fail(s, status);
	s->plain_len = out.pos;
	s->packed_left -= in.pos;
	s->next = s->packed_left ? s->next + in.pos : s->packed_end;
	s->plain_full = out.pos == s->block_bytes; /* there may be more inside */
	return 0;
}

static int plain_next(struct perfdata_stream *s, struct perfdata_record *ret)
{
	const uint8_t *p = s->plain + s->plain_next;
	int more = record_at(s, p, s->plain_len - s->plain_next, s->plain_next, ret);

	if (more > 0)
		s->plain_next += ret->len + HEAD;
	return more;
}

/* ---- records of the file ---- */

static int block_next(struct perfdata_stream *s, struct perfdata_record *ret)
{
	int more = block_fill(s, HEAD);

	if (more <= 0) {
		s->cut |= s->len > s->next;
		return more;
	}
	more = record_at(s, s->block + s->next, s->len - s->next, block_offset(s), ret);
	if (more)
		return more;
	more = block_fill(s, ret->len + HEAD);
	s->cut |= !more;
	if (more > 0)
		more = record_at(s, s->block + s->next, s->len - s->next, block_offset(s), ret);
	return more;
}

/* The blob after its record. */
static int formats_take(struct perfdata_stream *s, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, s->file->path, rec->offset);
	uint32_t len = buffer_u32(&b);
	_cleanup_free_ uint8_t *data = NULL;
	uint64_t offset = block_offset(s);
	int err = buffer_ok(&b, "the record of the event formats");

	if (err)
		return err;
	if (len > PERFDATA_SECTION_MAX || len > s->file->data_end - offset)
		return buffer_fail(&b, "invalid size %u of the event formats", len);
	data = malloc((size_t)len + 1);
	if (!data)
		return fail(-ENOMEM, "%s: out of memory", s->file->path);
	err = perfdata_load(s->file, offset, len, data);
	skip(s, len);
	return err ? err : perfdata_formats(s->file, data, len, offset, s->events);
}

/* 1: it was for us, and is done; 0: the caller wants it. */
static int describing(struct perfdata_stream *s, const struct perfdata_record *rec)
{
	struct buffer b = buffer_of(rec->data, rec->len, s->file->path, rec->offset);
	int err = 0;

	switch (rec->type) {
	case PERFDATA_HEADER_ATTR:
		err = perfdata_attr_record(s->file, &b);
		break;
	case PERFDATA_TRACING_DATA:
		err = formats_take(s, rec);
		break;
	case PERFDATA_FEATURE:
		err = perfdata_feature_record(s->file, &b);
		break;
	case PERFDATA_AUXTRACE:
		skip(s, buffer_u64(&b));
		break;
	case PERFDATA_COMPRESSED:
	case PERFDATA_COMPRESSED2:
		err = packed_begin(s, rec);
		break;
	default:
		return 0;
	}
	return err ? err : 1;
}

static int record_next(struct perfdata_stream *s, struct perfdata_record *ret)
{
	for (;;) {
		int more = plain_next(s, ret);

		if (more)
			return more < 0 ? more : 1;
		if (s->packed_left || s->plain_full) {
			more = packed_take(s);
			if (more)
				return more;
			continue;
		}
		more = block_next(s, ret);
		if (more <= 0)
			return more;
		s->next += ret->len + HEAD;
		more = describing(s, ret);
		if (more <= 0)
			return more < 0 ? more : 1;
	}
}

int perfdata_stream_next(struct perfdata_stream *s, struct perfdata_record *ret)
{
	int more = s->ended   ? 0
		   : s->parts ? perfdata_parts_next(s->parts, s->file, ret, &s->cut)
			      : record_next(s, ret);

	if (more <= 0) { /* another reader of the file may follow before this one is closed */
		ZSTD_freeDStream(s->zstd);
		s->zstd = NULL;
		s->ended = true;
	}
	return more;
}
