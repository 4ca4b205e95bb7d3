// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The "tracefile", version 3. Little-endian, no alignment anywhere:
 *
 *   i32 version; u64 n; n x { u64 key; str name; str signature; str format }      str = u16 length
 * + bytes until the end: { u64 key; u64 thread; char name[16]; u64 time; u32 cpu; u64 return
 * address ...; u64 0; arguments }
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "readers/osv/osv_private.h"

int osv_tracefile_open(struct osv_trace *t, struct buffer *b)
{
	uint32_t version = buffer_u32(b);
	uint64_t n = buffer_u64(b);

	if (version != 3)
		return fail(-EINVAL, "%s: tracefile of version %u; only version 3 can be read",
			    t->base.file, version);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t key = buffer_u64(b);
		char *name = osv_string(b), *signature = osv_string(b), *format = osv_string(b);
		int err = osv_type_add(t, b, key, name, signature, format);

		if (err)
			return err;
	}
	t->streams = calloc(1, sizeof(*t->streams));
	if (!t->streams)
		return fail(-ENOMEM, "out of memory");
	t->nr_streams = 1;
	t->streams[0].body = *b;
	return 0;
}

enum { HEAD_BYTES = 44 }; /* of a sample: tracepoint, thread, its name, time, CPU */

/* Return addresses up to the closing zero. */
static int read_backtrace(struct buffer *b, struct sample *ret)
{
	const uint8_t *p = b->pos, *end = p + (buffer_left(b) & ~(size_t)7);
	uint64_t address = 0;

	/* Nearly always short and complete. The loop below handles the rest and reports errors. */
	if (buffer_left(b) > 8 * 64)
		end = p + 8 * 64;
	while (p < end && (memcpy(&address, p, 8), address))
		p += 8;
	if (p < end) {
		ret->backtrace = b->pos;
		ret->nr_backtrace = (uint32_t)((p - b->pos) / 8);
		b->pos = p + 8;
		return 0;
	}
	ret->backtrace = b->pos;
	ret->nr_backtrace = 0;
	while (buffer_u64(b)) {
		if (++ret->nr_backtrace == OSV_BACKTRACE_MAX)
			return buffer_fail(b, "a backtrace of more than %d addresses",
					   OSV_BACKTRACE_MAX);
	}
	return buffer_ok(b, "a sample");
}

int osv_tracefile_next(struct osv_trace *t, struct sample *ret)
{
	struct buffer *b = &t->streams[0].at;
	int err;

	if (!buffer_left(b))
		return 0;
	const uint8_t *head = buffer_bytes(b, HEAD_BYTES);
	uint64_t key;

	err = head ? 0 : buffer_ok(b, "a sample");
	if (err)
		return err;
	memcpy(&key, head, 8);
	memcpy(&ret->thread, head + 8, 8);
	memcpy(ret->thread_name, head + 16, 16);
	memcpy(&ret->time_ns, head + 32, 8);
	ret->guest_ns = 0;
	memcpy(&ret->cpu, head + 40, 4);
	ret->thread_name[16] = 0;
	ret->tp = osv_type_of(t, key);
	if (!ret->tp)
		return buffer_fail(b, "unknown tracepoint 0x%" PRIx64, key);
	err = read_backtrace(b, ret);
	if (err)
		return err;
	return osv_skip_args(b, ret);
}
