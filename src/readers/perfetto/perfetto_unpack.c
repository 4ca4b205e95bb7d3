// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packets that the service has compressed (compress_type: COMPRESSION_TYPE_DEFLATE, or zstd): a packet holds a row of
 * packets. CPUs that are read in the same packet share its content.
 */
#include <errno.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include "base/error.h"
#include "readers/perfetto/perfetto_internal.h"

enum { ARENA_BYTES = 256 << 10, FIRST_FACTOR = 8 };

static bool inflate_to(uint8_t *to, size_t *len, const uint8_t *from, size_t from_len)
{
	uLongf out = *len;
	int status = uncompress(to, &out, from, from_len);

	*len = out;
	return status == Z_OK;
}

static bool zstd_to(uint8_t *to, size_t *len, const uint8_t *from, size_t from_len)
{
	size_t out = ZSTD_decompress(to, *len, from, from_len);

	if (ZSTD_isError(out))
		return false;
	*len = out;
	return true;
}

/* With memory that doubles until the content fits, or is too large; NULL: so, or damaged, or p->err is set. */
static uint8_t *content_make(struct perfetto *p, const uint8_t *from, size_t from_len,
			     enum perfetto_packing packing, size_t *ret_len)
{
	size_t max = from_len < PERFETTO_UNPACKED_MAX / FIRST_FACTOR ? from_len * FIRST_FACTOR
								     : PERFETTO_UNPACKED_MAX;

	for (;; max = max * 2 < PERFETTO_UNPACKED_MAX ? max * 2 : PERFETTO_UNPACKED_MAX) {
		uint8_t *to = malloc(max ? max : 1);

		*ret_len = max;
		if (!to) {
			p->err = fail(-ENOMEM, "%s: out of memory", p->info->file);
			return NULL;
		}
		if (packing == PACKING_ZLIB ? inflate_to(to, ret_len, from, from_len)
					    : zstd_to(to, ret_len, from, from_len))
			return to;
		free(to);
		if (max >= PERFETTO_UNPACKED_MAX || !max)
			return NULL;
	}
}

struct perfetto_content *perfetto_unpack(struct perfetto *p, uint64_t at, size_t len,
					 enum perfetto_packing packing)
{
	struct perfetto_content *c;

	for (c = p->contents; c && c->at != at; c = c->next)
		;
	if (c) {
		c->users++;
		return c;
	}
	c = calloc(1, sizeof(*c));
	if (!c) {
		p->err = fail(-ENOMEM, "%s: out of memory", p->info->file);
		return NULL;
	}
	c->bytes = content_make(p, p->data + at, len, packing, &c->len);
	if (c->bytes && p->held + c->len > PERFETTO_HELD_MAX)
		p->err = fail(-E2BIG,
			      "%s: its CPUs are in too many compressed packets at once (more than "
			      "%d MiB)",
			      p->info->file, PERFETTO_HELD_MAX >> 20);
	if (!c->bytes || p->err) {
		free(c->bytes);
		free(c);
		return NULL;
	}
	c->at = at;
	c->users = 1;
	c->next = p->contents;
	p->contents = c;
	p->held += c->len;
	return c;
}

void perfetto_release(struct perfetto *p, struct perfetto_content *c)
{
	struct perfetto_content **at = &p->contents;

	if (!c || --c->users)
		return;
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	p->held -= c->len;
	free(c->bytes);
	free(c);
}

/* ---- messages: protobuf-c's memory is an arena that the next message uses again ---- */

static void *arena_alloc(void *arg, size_t size)
{
	struct perfetto *p = arg;
	size_t at = (p->arena_used + 15) & ~(size_t)15;

	if (!p->arena || size > ARENA_BYTES || at > ARENA_BYTES - size)
		return NULL;
	p->arena_used = at + size;
	return p->arena + at;
}

static void arena_free(void *arg, void *memory)
{
	(void)arg;
	(void)memory;
}

ProtobufCMessage *perfetto_message(struct perfetto *p, const ProtobufCMessageDescriptor *type,
				   const uint8_t *bytes, size_t len)
{
	ProtobufCAllocator arena = {arena_alloc, arena_free, p};

	if (!p->arena)
		p->arena = malloc(ARENA_BYTES);
	p->arena_used = 0;
	return protobuf_c_message_unpack(type, &arena, len, bytes);
}
