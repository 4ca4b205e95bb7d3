/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chunks of a .hrt file in the order in which they are written, while they are: of a pipe, or of a file that a
 * recorder still writes. A chunk is in memory until the next one is read.
 */
#ifndef HOSTRACE_TRACEFILE_STREAM_H
#define HOSTRACE_TRACEFILE_STREAM_H

#include "base/live_read.h"
#include "event/reader.h"
#include "tracefile/map.h"

struct trace_stream {
	struct live_read from;
	struct trace_info *info; /* damaged parts become caveats of it */
	uint64_t offset;	 /* of buf in the stream */
	uint8_t *buf;
	size_t len, max, taken;
	bool begun, complete; /* complete: the trailer has come */
};

/* The descriptor and info are borrowed. Reads the header: -errno with the error message set. */
int trace_stream_begin(struct trace_stream *s, int fd, struct trace_info *info,
		       struct trace_header *ret);

/*
 * Waits for the next chunk, index chunks included: 1, the whole chunk is at s->buf until the next call; 0: the end;
 * -errno with the error message set.
 */
int trace_stream_next(struct trace_stream *s, struct chunk_ref *ret);

/* Bytes at the end that are no whole chunk. */
static inline size_t trace_stream_rest(const struct trace_stream *s)
{
	return s->complete ? 0 : s->len;
}

void trace_stream_end(struct trace_stream *s);

#endif
