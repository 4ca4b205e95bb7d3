// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Merges a dump's per-CPU streams by time. Samples of equal time are returned in the order in which
 * OSv's tool prints them, so that reports can be compared line by line: a binary heap that is
 * compared by "earlier than" only, whose top is replaced by its stream's next sample and sifted to
 * a leaf along the smaller children (the left one only if it is strictly earlier), then back up
 * while strictly earlier.
 */
#include "readers/osv/osv_private.h"

static bool earlier(const struct osv_stream *a, const struct osv_stream *b)
{
	return a->head.time_ns < b->head.time_ns;
}

static void sift_up(struct osv_stream **heap, unsigned int top, unsigned int pos)
{
	struct osv_stream *s = heap[pos];

	while (pos > top && earlier(s, heap[(pos - 1) / 2])) {
		heap[pos] = heap[(pos - 1) / 2];
		pos = (pos - 1) / 2;
	}
	heap[pos] = s;
}

static void sift_down(struct osv_stream **heap, unsigned int nr, unsigned int pos)
{
	struct osv_stream *s = heap[pos];
	unsigned int top = pos, child;

	while ((child = 2 * pos + 1) < nr) {
		if (child + 1 < nr && !earlier(heap[child], heap[child + 1]))
			child++;
		heap[pos] = heap[child];
		pos = child;
	}
	heap[pos] = s;
	sift_up(heap, top, pos);
}

static int merge_start(struct osv_trace *t)
{
	t->started = true;
	t->nr_heap = 0;
	for (unsigned int i = 0; i < t->nr_streams; i++) {
		int r = osv_dump_stream_next(t, &t->streams[i]);

		if (r < 0)
			return r;
		if (r)
			t->heap[t->nr_heap++] = &t->streams[i];
	}
	for (unsigned int i = t->nr_heap / 2; i-- > 0;)
		sift_down(t->heap, t->nr_heap, i);
	return t->nr_heap ? 1 : 0;
}

/* The head returned last is replaced only now: it had to stay valid until this call. */
static int merge_advance(struct osv_trace *t)
{
	if (!t->nr_heap)
		return 0;
	int r = osv_dump_stream_next(t, t->heap[0]);

	if (r < 0)
		return r;
	if (!r) {
		t->heap[0] = t->heap[--t->nr_heap];
		if (!t->nr_heap)
			return 0;
	}
	sift_down(t->heap, t->nr_heap, 0);
	return 1;
}

int osv_merge_next(struct osv_trace *t, struct sample *ret)
{
	int r = t->started ? merge_advance(t) : merge_start(t);

	if (r > 0)
		*ret = t->heap[0]->head;
	return r;
}
