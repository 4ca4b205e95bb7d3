// SPDX-License-Identifier: GPL-2.0-or-later
/* Version 6: everything in one row, nothing packed; pages stand where a table at the end of it says. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "readers/ftrace/tracedat_internal.h"

/* The row is taken into memory whole, up to here; kallsyms is the largest part of it, some 10 MB. */
#define HEAD_MAX (TRACEDAT_SECTION_MAX)

enum { KIND_BYTES = 10 }; /* "options  ", "latency  " or "flyrecord", with its NUL */

static int options_read(struct tracedat_file *f, struct buffer *b,
			struct tracedat_all_stats *stats)
{
	for (int n = 0; n < TRACEDAT_OPTIONS_MAX; n++) {
		uint16_t id = buffer_u16(b);
		uint32_t len;
		const uint8_t *data;
		struct buffer option;
		uint64_t at;
		int err;

		if (!id || b->cut)
			break;
		len = buffer_u32(b);
		at = buffer_tell(b);
		data = buffer_bytes(b, len);
		if (!data)
			break;
		option = buffer_of(data, len, f->path, at);
		f->instances += id == TRACEDAT_BUFFER;
		err = tracedat_option(f, id, &option, stats);
		if (err)
			return err;
	}
	return buffer_ok(b, "the options");
}

static int cpus_read(struct tracedat_file *f, struct buffer *b, uint32_t nr)
{
	const uint8_t *clock;
	size_t len;

	for (uint32_t i = 0; i < nr; i++) {
		uint64_t offset = buffer_u64(b), size = buffer_u64(b);
		int err;

		if (b->cut)
			return buffer_ok(b, "the table of CPUs");
		err = tracedat_cpu_add(f, i, offset, size, false);
		if (err)
			return err;
	}
	clock = buffer_left(b) >= 8 ? tracedat_sized(b, &len) : NULL;
	if (clock && len < 512 && !f->clock[0]) { /* since trace-cmd 2.2 */
		char text[512];

		memcpy(text, clock, len);
		text[len] = '\0';
		tracedat_clock_take(f, text);
	}
	return 0;
}

static int rest_read(struct tracedat_file *f, struct buffer *b, struct tracedat_all_stats *stats)
{
	uint32_t nr = buffer_u32(b);
	const uint8_t *kind = buffer_bytes(b, KIND_BYTES);
	int err = 0;

	if (kind && !memcmp(kind, "options", 7)) {
		err = options_read(f, b, stats);
		kind = buffer_bytes(b, KIND_BYTES);
	}
	if (err || !kind)
		return err ? err : buffer_ok(b, "the header");
	if (!memcmp(kind, "latency", 7)) {
		f->latency = true;
		return 0;
	}
	if (memcmp(kind, "flyrecord", 9))
		return buffer_fail(b, "unknown section after the header");
	return cpus_read(f, b, nr);
}

static void skip_32(struct buffer *b)
{
	buffer_bytes(b, buffer_u32(b));
}

int tracedat_v6(struct tracedat_file *f, uint64_t at, struct ftrace_events *events,
		struct tracedat_all_stats *stats)
{
	_cleanup_free_ uint8_t *head = NULL;
	uint64_t len = f->bytes - at < HEAD_MAX ? f->bytes - at : HEAD_MAX;
	struct buffer b;
	int err = tracedat_load(f, at, len, &head);

	if (err)
		return err;
	b = buffer_of(head, len, f->path, at);
	err = tracedat_headers(f, &b);
	if (!err)
		err = tracedat_ftrace_formats(&b, events);
	if (!err)
		err = tracedat_formats(&b, events);
	if (err)
		return err;
	err = tracedat_kallsyms(f, &b);
	skip_32(&b); /* trace_printk's formats */
	if (!err)
		err = tracedat_cmdlines(f, &b);
	return err ? err : rest_read(f, &b, stats);
}
