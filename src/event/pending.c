// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sort is a merge sort that uses the existing runs: a file written by one CPU costs one comparison a
 * record, a round of n CPUs log2(n) passes.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/error.h"
#include "event/losses.h"
#include "event/pending.h"
#include "record.h"

enum {
	RUN_MIN = 16,		/* shorter runs are made this long by insertion */
	BLOCKS_SPARE = 4 << 20, /* blocks are compacted beyond one and a half times the live bytes plus this */
};

struct pending_block {
	struct pending_block *next;
	size_t used;
	uint8_t data[PENDING_BLOCK] __attribute__((aligned(8)));
};

static void blocks_free(struct pending_block *b)
{
	while (b) {
		struct pending_block *next = b->next;

		free(b);
		b = next;
	}
}

void pending_deinit(struct pending *p)
{
	blocks_free(p->blocks);
	blocks_free(p->pool);
	free(p->slots);
	free(p->spare);
	free(p->runs);
	*p = (struct pending){0};
}

static uint8_t *block_take(struct pending *p, size_t len)
{
	struct pending_block *b = p->blocks;

	len = (len + 7) & ~(size_t)7;
	if (!b || b->used + len > PENDING_BLOCK) {
		b = p->pool;
		if (b)
			p->pool = b->next;
		else
			b = malloc(sizeof(*b));
		if (!b)
			return NULL;
		b->used = 0;
		b->next = p->blocks;
		p->blocks = b;
		p->block_bytes += PENDING_BLOCK;
	}
	b->used += len;
	return b->data + b->used - len;
}

static void blocks_recycle(struct pending *p, struct pending_block *b)
{
	while (b) {
		struct pending_block *next = b->next;

		b->next = p->pool;
		p->pool = b;
		b = next;
	}
}

static void blocks_keep(struct pending *p, struct pending_block *old)
{
	struct pending_block **tail = &p->blocks;

	while (*tail)
		tail = &(*tail)->next;
	for (*tail = old; old; old = old->next)
		p->block_bytes += PENDING_BLOCK;
}

static bool is_sparse(const struct pending *p)
{
	return p->block_bytes > p->live_bytes + p->live_bytes / 2 + BLOCKS_SPARE;
}

/* Drops what was returned; if little of the memory is in use, compacts it. */
static void compact(struct pending *p)
{
	struct pending_block *old = p->blocks;

	memmove(p->slots, p->slots + p->head, (p->nr - p->head) * sizeof(*p->slots));
	p->nr -= p->head;
	p->ready -= p->head;
	p->head = 0;
	if (p->nr && !is_sparse(p))
		return;
	size_t moved = 0;

	p->blocks = NULL;
	p->block_bytes = 0;
	for (size_t i = 0; i < p->nr; i++) {
		struct record_hdr h;
		uint8_t *to;

		memcpy(&h, p->slots[i].data, sizeof(h));
		to = block_take(p, h.size);
		if (!to)
			break;
		memcpy(to, p->slots[i].data, h.size);
		p->slots[i].data = to;
		moved++;
	}
	if (moved == p->nr)
		blocks_recycle(p, old);
	else
		blocks_keep(p, old); /* out of memory: what did not move stays where it is */
}

uint8_t *pending_memory(struct pending *p, size_t len)
{
	if (p->head || is_sparse(p)) /* most of what is read may not be wanted */
		compact(p);
	return len <= PENDING_BLOCK ? block_take(p, len) : NULL;
}

int pending_reserve(struct pending *p, size_t nr)
{
	size_t max = p->max ? p->max : 4096;
	void *slots, *spare, *runs;

	if (p->nr + nr <= p->max)
		return 0;
	while (max < p->nr + nr)
		max *= 2;
	slots = realloc(p->slots, max * sizeof(*p->slots));
	p->slots = slots ? slots : p->slots;
	spare = realloc(p->spare, max * sizeof(*p->spare));
	p->spare = spare ? spare : p->spare;
	runs = realloc(p->runs, (max / RUN_MIN + 2) * sizeof(*p->runs));
	p->runs = runs ? runs : p->runs;
	if (!slots || !spare || !runs)
		return fail(-ENOMEM, "out of memory (%zu pending events)", max);
	p->max = max;
	return 0;
}

/* Lengthens the run [from, to) to RUN_MIN by insertion; stable. Returns its end. */
static size_t run_extend(struct pending_slot *s, size_t from, size_t to, size_t nr)
{
	size_t end = from + RUN_MIN < nr ? from + RUN_MIN : nr;

	for (; to < end; to++) {
		struct pending_slot x = s[to];
		size_t i = to;

		for (; i > from && s[i - 1].time_ns > x.time_ns; i--)
			s[i] = s[i - 1];
		s[i] = x;
	}
	return to;
}

/* Finds the ascending runs; runs[i] is where run i ends. Returns their number. */
static size_t runs_find(struct pending *p)
{
	size_t nr_runs = 0;

	for (size_t from = p->head, to; from < p->nr; from = to) {
		for (to = from + 1; to < p->nr && p->slots[to - 1].time_ns <= p->slots[to].time_ns;)
			to++;
		if (to - from < RUN_MIN)
			to = run_extend(p->slots, from, to, p->nr);
		p->runs[nr_runs++] = (uint32_t)to;
	}
	return nr_runs;
}

/*
 * Branch-free, because the order of two CPUs is unpredictable, and from both ends at once, as each step has to wait for
 * the one before it. Neither end is checked for half as many steps as the shorter one has elements. Of equal times a's
 * come first.
 */
static void merge(const struct pending_slot *a, const struct pending_slot *a_end,
		  const struct pending_slot *b, const struct pending_slot *b_end,
		  struct pending_slot *out)
{
	struct pending_slot *out_end = out + (a_end - a) + (b_end - b);

	while (a < a_end && b < b_end) {
		ptrdiff_t steps = (a_end - a < b_end - b ? a_end - a : b_end - b) / 2;
		size_t take_b = b->time_ns < a->time_ns, take_a;

		if (!steps) {
			*out++ = *(take_b ? b++ : a++);
			continue;
		}
		for (; steps; steps--) {
			take_b = b->time_ns < a->time_ns;
			take_a = b_end[-1].time_ns < a_end[-1].time_ns;
			*out++ = *(take_b ? b : a);
			*--out_end = *(take_a ? a_end - 1 : b_end - 1);
			a += !take_b;
			b += take_b;
			a_end -= take_a;
			b_end -= !take_a;
		}
	}
	memcpy(out, a, (size_t)(a_end - a) * sizeof(*a));
	memcpy(out + (a_end - a), b, (size_t)(b_end - b) * sizeof(*b));
}

static void sort(struct pending *p)
{
	size_t nr_runs = runs_find(p);

	while (nr_runs > 1) {
		struct pending_slot *src = p->slots, *dst = p->spare;
		size_t from = p->head, out = 0;

		for (size_t i = 0; i < nr_runs; i += 2) {
			size_t mid = p->runs[i], end = i + 1 < nr_runs ? p->runs[i + 1] : mid;

			merge(src + from, src + mid, src + mid, src + end, dst + from);
			p->runs[out++] = (uint32_t)end;
			from = end;
		}
		nr_runs = out;
		p->slots = dst;
		p->spare = src;
	}
}

static void ready_set(struct pending *p, size_t ready)
{
	p->ready = ready;
	if (ready > p->head && p->slots[ready - 1].time_ns > p->newest_ns)
		p->newest_ns = p->slots[ready - 1].time_ns;
}

void pending_release(struct pending *p, uint64_t watermark_ns)
{
	sort(p);
	ready_set(p, watermark_ns == UINT64_MAX
			     ? p->nr
			     : p->head + array_prefix(p->nr - p->head, i,
						      p->slots[p->head + i].time_ns <
							      watermark_ns));
}

void pending_release_half(struct pending *p)
{
	sort(p);
	ready_set(p, p->head + (p->nr - p->head + 1) / 2);
}

static uint64_t lost_count(const struct pending *p, const struct event *ev)
{
	return ev->time_ns >= p->since_ns && ev->time_ns < p->until_ns ? lost_record_count(ev) : 0;
}

void pending_batch(struct pending *p, const struct event_type *const *types,
		   struct trace_info *info, struct batch *batch)
{
	size_t nr = p->ready - p->head;
	struct record_hdr h;

	batch->nr = nr < BATCH_MAX ? (unsigned int)nr : BATCH_MAX;
	for (unsigned int i = 0; i < batch->nr; i++) {
		const struct pending_slot *s = &p->slots[p->head + i];
		struct event *ev = &batch->ev[i];

		memcpy(&h, s->data, sizeof(h));
		ev->time_ns = s->time_ns;
		ev->type = record_type(&p->shapes, types[h.type], s->data);
		ev->data = s->data;
		ev->pid = h.pid;
		ev->tid = h.tid;
		ev->size = h.size;
		ev->cpu = h.cpu;
		ev->vcpu = h.vcpu;
		ev->source = 0;
		ev->flags[0] = 0;
		p->live_bytes -= h.size;
		if (info->types_read)
			info->types_read[ev->type->index]++;
		if (ev->type->id == EV_lost)
			info->lost += lost_count(p, ev);
	}
	p->head += batch->nr;
	info->nr_events += batch->nr;
	info->late = p->late;
}
