// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The flight recorder's memory: the newest chunks of records, raw, and from discarded chunks the newest naming
 * event of each object, because the kept events refer to them.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "record.h"
#include "tracefile/out.h"

#define _cleanup_trace_ring_ _cleanup_(trace_ring_cleanup_)

enum { NAMES_MAX = 16384 }; /* naming events kept from discarded chunks */

struct link {
	struct trace_chunk chunk;
	struct link *newer;
};

struct trace_ring {
	uint64_t max_bytes, bytes;
	struct link *oldest, *newest;
	struct record_hdr **names; /* each a copy of a whole record */
	unsigned int nr_names;
	uint64_t names_dropped;
};

struct trace_ring *trace_ring_new(uint64_t max_bytes)
{
	struct trace_ring *ring = calloc(1, sizeof(*ring));

	if (ring)
		ring->max_bytes = max_bytes;
	return ring;
}

static void link_free(struct link *l)
{
	if (!l)
		return;
	free(l->chunk.counts);
	free(l->chunk.data);
	free(l);
}

void trace_ring_free(struct trace_ring *ring)
{
	if (!ring)
		return;
	for (struct link *l = ring->oldest, *next; l; l = next) {
		next = l->newer;
		link_free(l);
	}
	for (unsigned int i = 0; i < ring->nr_names; i++)
		free(ring->names[i]);
	free(ring->names);
	free(ring);
}

static bool is_naming(uint16_t type)
{
	return type == EV_thread || type == EV_guest_task || type == EV_virtio_device ||
	       type == EV_virtio_kind || type == EV_vcpu_tsc || type == EV_clock_pair;
}

/* Do both name the same object? */
static bool same_thing(const struct record_hdr *a, const struct record_hdr *b)
{
	if (a->type != b->type)
		return false;
	switch (a->type) {
	case EV_clock_pair: /* one is enough, the newest */
		return true;
	case EV_virtio_device: /* their address is the first field */
	case EV_virtio_kind:
		return a->pid == b->pid && !memcmp(a + 1, b + 1, 8);
	default:
		return a->pid == b->pid && a->tid == b->tid && a->vcpu == b->vcpu;
	}
}

static void name_keep(struct trace_ring *ring, const struct record_hdr *rec)
{
	struct record_hdr *copy = malloc(rec->size), **names;
	unsigned int i = 0;

	if (!copy) {
		ring->names_dropped++;
		return;
	}
	memcpy(copy, rec, rec->size);
	while (i < ring->nr_names && !same_thing(ring->names[i], rec))
		i++;
	if (i < ring->nr_names) {
		free(ring->names[i]);
		ring->names[i] = copy;
		return;
	}
	names = i < NAMES_MAX ? realloc(ring->names, (i + 1) * sizeof(*names)) : NULL;
	if (!names) {
		free(copy);
		ring->names_dropped++;
		return;
	}
	ring->names = names;
	ring->names[ring->nr_names++] = copy;
}

/* These are our own bytes, checked when they were written: no cursor needed. */
static void evict(struct trace_ring *ring)
{
	struct link *l = ring->oldest;

	for (size_t at = 0; at < l->chunk.len;) {
		const struct record_hdr *rec = (const void *)(l->chunk.data + at);

		if (is_naming(rec->type))
			name_keep(ring, rec);
		at += rec->size;
	}
	ring->oldest = l->newer;
	ring->bytes -= l->chunk.len;
	link_free(l);
}

static void *copy_of(const void *from, size_t len)
{
	void *p = malloc(len ? len : 1);

	if (p)
		memcpy(p, from, len);
	return p;
}

int trace_ring_push(struct trace_ring *ring, const struct trace_chunk *chunk)
{
	struct link *l = calloc(1, sizeof(*l));

	if (l) {
		l->chunk = *chunk;
		l->chunk.counts =
			copy_of(chunk->counts, chunk->h.nr_counts * sizeof(*chunk->counts));
		l->chunk.data = copy_of(chunk->data, chunk->len);
	}
	if (!l || !l->chunk.counts || !l->chunk.data) {
		link_free(l);
		return fail(-ENOMEM, "out of memory");
	}
	if (ring->oldest)
		ring->newest->newer = l;
	else
		ring->oldest = l;
	ring->newest = l;
	ring->bytes += chunk->len;
	while (ring->oldest != l && ring->bytes - ring->oldest->chunk.len >= ring->max_bytes)
		evict(ring);
	return 0;
}

static bool chunk_has(const struct trace_chunk *c, uint16_t type)
{
	return array_any(c->h.nr_counts, i, c->counts[i].type == type);
}

/* Where naming events go, and what becomes of them. */
struct names {
	uint64_t window_ns;
	bool pair_wanted;
	const struct record_hdr *pair; /* the newest */
	uint8_t *out;		       /* NULL: only their length is wanted */
	size_t len;
};

static void name_append(struct names *n, const struct record_hdr *rec)
{
	if (n->out)
		memcpy(n->out + n->len, rec, rec->size);
	n->len += rec->size;
}

/* A name from before the window is as good at its beginning; a clock pair is only true at its own time. */
static void name_add(struct names *n, const struct record_hdr *rec)
{
	size_t at = n->len;

	if (rec->type == EV_clock_pair) {
		n->pair = rec;
		return;
	}
	name_append(n, rec);
	if (n->out)
		memcpy(n->out + at, &n->window_ns, sizeof(n->window_ns));
}

/* Those of the table, and later ones from chunks before the window. */
static void names_collect(const struct trace_ring *ring, const struct link *first, struct names *n)
{
	n->len = 0;
	for (unsigned int i = 0; i < ring->nr_names; i++)
		name_add(n, ring->names[i]);
	for (const struct link *l = ring->oldest; l != first; l = l->newer)
		for (size_t at = 0; at < l->chunk.len;) {
			const struct record_hdr *rec = (const void *)(l->chunk.data + at);

			if (is_naming(rec->type))
				name_add(n, rec);
			at += rec->size;
		}
	if (n->pair && n->pair_wanted)
		name_append(n, n->pair);
}

static int names_visit(const uint8_t *data, size_t len,
		       int (*visit)(void *arg, const struct trace_chunk *chunk), void *arg)
{
	struct chunk_count counts[4];
	struct trace_chunk c = {
		.h = {.first_ns = UINT64_MAX}, .counts = counts, .data = (uint8_t *)data};
	int err = 0;

	while (!err && c.data + c.len < data + len) {
		const struct record_hdr *rec = (const void *)(c.data + c.len);
		unsigned int i = 0;

		while (i < c.h.nr_counts && counts[i].type != rec->type)
			i++;
		if (i == c.h.nr_counts)
			counts[c.h.nr_counts++] = (struct chunk_count){rec->type, 0};
		counts[i].count++;
		c.h.nr_records++;
		c.h.types_bloom |= type_bloom_bit(rec->type);
		c.h.first_ns = rec->time < c.h.first_ns ? rec->time : c.h.first_ns;
		c.h.last_ns = rec->time > c.h.last_ns ? rec->time : c.h.last_ns;
		c.len += rec->size;
		if (c.len > RECORDS_RAW_MAX / 2 || c.data + c.len == data + len) {
			err = visit(arg, &c);
			c = (struct trace_chunk){.h = {.first_ns = UINT64_MAX},
						 .counts = counts,
						 .data = c.data + c.len};
		}
	}
	return err;
}

int trace_ring_walk(const struct trace_ring *ring, uint64_t since_ns,
		    int (*visit)(void *arg, const struct trace_chunk *chunk), void *arg)
{
	struct names names = {.window_ns = UINT64_MAX, .pair_wanted = true};
	const struct link *first = ring->oldest;
	int err;

	while (first && first != ring->newest && first->chunk.h.last_ns < since_ns)
		first = first->newer;
	for (const struct link *l = first; l; l = l->newer) {
		if (l->chunk.h.first_ns < names.window_ns)
			names.window_ns = l->chunk.h.first_ns;
		names.pair_wanted = names.pair_wanted && !chunk_has(&l->chunk, EV_clock_pair);
	}
	names_collect(ring, first, &names);

	_cleanup_free_ uint8_t *records = malloc(names.len + 1);

	if (!records)
		return fail(-ENOMEM, "out of memory");
	names.out = records;
	names_collect(ring, first, &names);
	err = names_visit(records, names.len, visit, arg);
	for (const struct link *l = first; l && !err; l = l->newer)
		err = visit(arg, &l->chunk);
	return err;
}

uint64_t trace_ring_names_dropped(const struct trace_ring *ring)
{
	return ring->names_dropped;
}
