// SPDX-License-Identifier: GPL-2.0-or-later
/* Version 7: a chain of option sections; options say where the other sections are, each packed or not. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "readers/ftrace/tracedat_internal.h"

enum { SECTION_HEAD = 16, SECTION_PACKED = 1, CHAIN_MAX = 64 };

struct section {
	uint8_t *data;
	struct buffer b;
};

static int unpack(struct tracedat_file *f, struct section *s)
{
	uint32_t packed = buffer_u32(&s->b), len = buffer_u32(&s->b);
	const uint8_t *from = buffer_bytes(&s->b, packed);
	uint8_t *to;
	int err;

	if (!from)
		return buffer_ok(&s->b, "a compressed section");
	if (len > TRACEDAT_SECTION_MAX)
		return buffer_fail(&s->b, "too much metadata (%u bytes)", len);
	to = malloc((size_t)len + 1);
	if (!to)
		return fail(-ENOMEM, "%s: out of memory", f->path);
	err = tracedat_unpack(f->packing, from, packed, to, len, f->path);
	free(s->data);
	s->data = to;
	to[len] = '\0';
	s->b = buffer_of(to, len, f->path, s->b.offset);
	return err;
}

/* The section at `offset`, which must have this id. */
static int section_read(struct tracedat_file *f, uint64_t offset, unsigned int id,
			struct section *ret)
{
	_cleanup_free_ uint8_t *head = NULL;
	int err = tracedat_load(f, offset, SECTION_HEAD, &head);
	struct buffer b;
	unsigned int flags, is;
	uint64_t size;

	*ret = (struct section){0};
	if (err)
		return err;
	b = buffer_of(head, SECTION_HEAD, f->path, offset);
	is = buffer_u16(&b);
	flags = buffer_u16(&b);
	buffer_u32(&b); /* its description */
	size = buffer_u64(&b);
	if (is != id)
		return buffer_fail(&b, "unexpected section %u (expected %u)", is, id);
	err = tracedat_load(f, offset + SECTION_HEAD, size, &ret->data);
	if (err)
		return err;
	ret->b = buffer_of(ret->data, size, f->path, offset + SECTION_HEAD);
	return flags & SECTION_PACKED ? unpack(f, ret) : 0;
}

static int is_packed(struct tracedat_file *f, uint64_t offset, bool *ret)
{
	_cleanup_free_ uint8_t *head = NULL;
	int err = tracedat_load(f, offset, SECTION_HEAD, &head);

	if (!err)
		*ret = head[2] & SECTION_PACKED;
	return err;
}

/* BUFFER: the first, unnamed one is read; instances are counted. */
static int buffer_option(struct tracedat_file *f, struct buffer *b)
{
	uint64_t offset = buffer_u64(b);
	const char *name = tracedat_text(b), *clock = tracedat_text(b);
	uint32_t page = buffer_u32(b), nr = buffer_u32(b);
	bool packed = false;
	int err = buffer_ok(b, "a buffer's description");

	if (err)
		return err;
	if (*name || f->nr_cpus) {
		f->instances++;
		return 0;
	}
	if (page < 512 || page > FTRACE_PAGE_MAX)
		return buffer_fail(b, "invalid page size %u", page);
	f->page_size = page;
	if (strlen(clock) < sizeof(f->clock) && *clock)
		strcpy(f->clock, clock);
	err = is_packed(f, offset, &packed);
	for (uint32_t i = 0; i < nr && !err; i++) {
		uint32_t cpu = buffer_u32(b);
		uint64_t at = buffer_u64(b), size = buffer_u64(b);

		err = buffer_ok(b, "a buffer's description");
		if (!err && size)
			err = tracedat_cpu_add(f, cpu, at, size, packed);
	}
	return err;
}

static int part_read(struct tracedat_file *f, unsigned int id, uint64_t offset,
		     struct ftrace_events *events)
{
	struct section s;
	int err = section_read(f, offset, id, &s);

	if (!err && id == TRACEDAT_HEADERS)
		err = tracedat_headers(f, &s.b);
	else if (!err && id == TRACEDAT_FTRACE_FORMATS)
		err = tracedat_ftrace_formats(&s.b, events);
	else if (!err && id == TRACEDAT_FORMATS)
		err = tracedat_formats(&s.b, events);
	else if (!err && id == TRACEDAT_KALLSYMS)
		err = tracedat_kallsyms(f, &s.b);
	else if (!err)
		err = tracedat_cmdlines(f, &s.b);
	free(s.data);
	return err;
}

static int option_read(struct tracedat_file *f, unsigned int id, struct buffer *b,
		       struct ftrace_events *events, struct tracedat_all_stats *stats)
{
	bool has_offset = buffer_left(b) >= 8;

	switch (id) {
	case TRACEDAT_BUFFER:
		return buffer_option(f, b);
	case TRACEDAT_BUFFER_TEXT:
		f->latency = true;
		return 0;
	case TRACEDAT_HEADERS:
	case TRACEDAT_FTRACE_FORMATS:
	case TRACEDAT_FORMATS:
	case TRACEDAT_CMDLINES:
		return has_offset ? part_read(f, id, buffer_u64(b), events) : 0;
	case TRACEDAT_KALLSYMS:
		return has_offset && f->want_symbols ? part_read(f, id, buffer_u64(b), events) : 0;
	default:
		return tracedat_option(f, id, b, stats);
	}
}

/* One option section; ret_next: the offset of the next, 0 if it is the last. */
static int options_read(struct tracedat_file *f, struct buffer *b, struct ftrace_events *events,
			struct tracedat_all_stats *stats, uint64_t *ret_next)
{
	*ret_next = 0;
	for (int n = 0; n < TRACEDAT_OPTIONS_MAX; n++) {
		uint16_t id = buffer_u16(b);
		uint32_t len = buffer_u32(b);
		uint64_t at = buffer_tell(b);
		const uint8_t *data = buffer_bytes(b, len);
		struct buffer option;
		int err;

		if (!data)
			return buffer_ok(b, "the options");
		option = buffer_of(data, len, f->path, at);
		if (id == TRACEDAT_DONE) {
			*ret_next = buffer_u64(&option);
			return 0;
		}
		err = option_read(f, id, &option, events, stats);
		if (err)
			return err;
	}
	return 0;
}

static int packing_of(struct tracedat_file *f, struct buffer *b)
{
	const char *name = tracedat_text(b);

	tracedat_text(b); /* the packer's version */
	if (!strcmp(name, "zstd"))
		f->packing = TRACEDAT_ZSTD;
	else if (!strcmp(name, "zlib"))
		f->packing = TRACEDAT_ZLIB;
	else if (*name && strcmp(name, "none"))
		return fail(-ENOTSUP,
			    "%s: unsupported compression (supported: zlib, zstd)",
			    f->path);
	return 0;
}

int tracedat_v7(struct tracedat_file *f, struct buffer *b, struct ftrace_events *events,
		struct tracedat_all_stats *stats)
{
	int err = packing_of(f, b), n = 0;
	uint64_t next = buffer_u64(b), seen = 0;

	if (!err)
		err = buffer_ok(b, "the beginning");
	for (; !err && next; n++) {
		struct section s;

		if (n == CHAIN_MAX || next == seen)
			return fail(-EBADMSG, "%s: the chain of option sections does not end",
				    f->path);
		seen = next;
		err = section_read(f, next, TRACEDAT_DONE, &s);
		if (!err)
			err = options_read(f, &s.b, events, stats, &next);
		free(s.data);
	}
	if (!err && !f->nr_cpus && !f->latency)
		err = fail(-ENODATA, "%s holds no trace data; was the recording interrupted?",
			   f->path);
	return err;
}
