// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sorted array. Mappings are rare next to blocks, and there are few at a time, so that moving what follows is cheap:
 * at most HEAP_RANGES_MAX of 32 bytes.
 */
#include "analyzers/heap/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzers/heap/heap.h"

/* The first that ends after `at`. */
static size_t range_find(const struct heap_ranges *r, uint32_t pid, uint64_t at)
{
	size_t low = 0, high = r->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct heap_range *m = &r->range[middle];

		if (m->pid < pid || (m->pid == pid && m->to <= at))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int range_insert(struct heap_ranges *r, size_t at, const struct heap_range *new)
{
	if (r->nr == HEAP_RANGES_MAX) {
		r->refused++;
		return 0;
	}
	if (r->nr == r->max) {
		size_t max = r->max ? 2 * r->max : 64;
		struct heap_range *more = reallocarray(r->range, max, sizeof(*more));

		if (!more)
			return -ENOMEM;
		r->range = more;
		r->max = max;
	}
	memmove(&r->range[at + 1], &r->range[at], (r->nr - at) * sizeof(*r->range));
	r->range[at] = *new;
	r->nr++;
	return 0;
}

/* A range that would wrap ends with the address space. */
static uint64_t range_end(uint64_t from, uint64_t bytes)
{
	return bytes > UINT64_MAX - from ? UINT64_MAX : from + bytes;
}

int ranges_cut(struct heap_ranges *r, uint32_t pid, uint64_t from, uint64_t bytes, uint64_t *ret)
{
	uint64_t to = range_end(from, bytes);
	size_t first = range_find(r, pid, from), last;
	int err = 0;

	*ret = 0;
	if (first < r->nr && r->range[first].pid == pid && r->range[first].from < from) {
		struct heap_range rest = r->range[first];
		uint64_t end = rest.to < to ? rest.to : to;

		*ret += end - from;
		r->range[first++].to = from;
		if (rest.to > to) { /* a hole in its middle */
			rest.from = to;
			return range_insert(r, first, &rest);
		}
	}
	for (last = first; last < r->nr && r->range[last].pid == pid && r->range[last].to <= to;
	     last++)
		*ret += r->range[last].to - r->range[last].from;
	memmove(&r->range[first], &r->range[last], (r->nr - last) * sizeof(*r->range));
	r->nr -= last - first;
	if (first < r->nr && r->range[first].pid == pid && r->range[first].from < to) {
		*ret += to - r->range[first].from;
		r->range[first].from = to;
	}
	return err;
}

int ranges_add(struct heap_ranges *r, uint32_t pid, uint64_t from, uint64_t bytes, uint64_t id)
{
	const struct heap_range new = {from, range_end(from, bytes), id, pid, r->mappings++};
	uint64_t cut;
	int err = ranges_cut(r, pid, from, bytes, &cut);

	if (err || new.to == new.from)
		return err;
	return range_insert(r, range_find(r, pid, from), &new);
}

void ranges_free(struct heap_ranges *r)
{
	free(r->range);
	*r = (struct heap_ranges){0};
}
