// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A buffer with what was read and not yet passed on: at least the chunk that is being read, whose length its header
 * bounds. Bytes that are no chunk are skipped up to the next chunk header, as in a file (load.c).
 */
#include "tracefile/stream.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"

enum { READ_BYTES = 64 << 10 };

int trace_stream_begin(struct trace_stream *s, int fd, struct trace_info *info,
		       struct trace_header *ret)
{
	*s = (struct trace_stream){.info = info, .begun = true};
	live_read_begin(&s->from, fd);
	if (array_reserve(s->buf, READ_BYTES, s->max))
		return fail(-ENOMEM, "%s: out of memory", info->file);
	while (s->len < TRACE_HEADER_SIZE) {
		ssize_t n = live_read(&s->from, s->buf + s->len, TRACE_HEADER_SIZE - s->len);

		if (n < 0)
			return fail(-errno, "%s: %s", info->file, strerror(errno));
		if (!n)
			break;
		s->len += (size_t)n;
	}
	s->taken = s->len;
	return trace_header_decode(s->buf, s->len, info->file, ret);
}

void trace_stream_end(struct trace_stream *s)
{
	if (s->begun)
		live_read_end(&s->from);
	free(s->buf);
	*s = (struct trace_stream){0};
}

static void skip(struct trace_stream *s, size_t n)
{
	s->len -= n;
	s->offset += n;
	memmove(s->buf, s->buf + n, s->len);
}

/* Waits until so many bytes are in the buffer: 1; 0: they do not come. */
static int need(struct trace_stream *s, size_t len)
{
	if (s->len < len && array_reserve(s->buf, len + READ_BYTES, s->max))
		return fail(-ENOMEM, "%s: out of memory", s->info->file);
	while (s->len < len) {
		ssize_t n = live_read(&s->from, s->buf + s->len, s->max - s->len);

		if (n < 0)
			return fail(-errno, "%s: %s", s->info->file, strerror(errno));
		if (!n)
			return 0;
		s->len += (size_t)n;
	}
	return 1;
}

/* To the next bytes that may be a chunk's header, but not the first ones here. */
static size_t skip_to_magic(struct trace_stream *s)
{
	const uint8_t *at = memmem(s->buf + 1, s->len - 1, CHUNK_MAGIC, 4);
	size_t n = at ? (size_t)(at - s->buf) : s->len - 3;

	skip(s, n);
	return n;
}

static bool trailer_is_here(const struct trace_stream *s)
{
	struct trace_trailer t;

	return trace_trailer_decode(s->buf, &t) && t.index_offset < s->offset;
}

int trace_stream_next(struct trace_stream *s, struct chunk_ref *ret)
{
	uint64_t skipped = 0;
	int more;

	skip(s, s->taken);
	s->taken = 0;
	while ((more = need(s, TRAILER_SIZE)) > 0) {
		s->complete = trailer_is_here(s);
		if (s->complete)
			more = 0;
		else
			more = need(s, CHUNK_HEADER_SIZE);
		if (more <= 0)
			break;
		ret->offset = s->offset;
		if (!chunk_header_decode(s->buf, &ret->h)) {
			skipped += skip_to_magic(s);
			continue;
		}
		s->taken = chunk_length(&ret->h);
		more = need(s, s->taken);
		break;
	}
	if (skipped)
		trace_info_caveat(s->info,
				  "%s is corrupt: %" PRIu64 " bytes before offset %" PRIu64
				  " were skipped",
				  s->info->file, skipped, s->offset);
	return more;
}
