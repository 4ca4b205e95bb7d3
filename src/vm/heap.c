// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "vm/heap.h"

enum { SCAN_BYTES = 4 << 20 };

static const uint64_t SCAN_RANGE_MAX = 1ull << 30; /* larger mappings are guest memory, or TCG's code */

static bool worth_searching(const struct memory_range *r, uint64_t skip_bytes)
{
	uint64_t size = r->end - r->start;

	if (!r->read || !r->write || r->exec || r->shared || r->file)
		return false;
	return r->heap || (size != skip_bytes && size <= SCAN_RANGE_MAX);
}

int heap_search(const struct memory *m, uint64_t skip_bytes, size_t overlap,
		int (*fn)(void *arg, const uint8_t *bytes, size_t size, uint64_t base), void *arg)
{
	_cleanup_free_ uint8_t *bytes = malloc(SCAN_BYTES + HEAP_OVERLAP_MAX);
	int err = bytes ? 0 : fail(-ENOMEM, "out of memory");

	for (unsigned int i = 0; i < m->nr && !err; i++) {
		const struct memory_range *r = &m->range[i];
		uint64_t end = r->end - r->start > SCAN_RANGE_MAX ? r->start + SCAN_RANGE_MAX
								  : r->end;

		if (!worth_searching(r, skip_bytes))
			continue;
		for (uint64_t at = r->start; at < end && !err; at += SCAN_BYTES) {
			uint64_t size = SCAN_BYTES + overlap;

			if (size > r->end - at)
				size = r->end - at;
			if (!memory_read(m, at, bytes, size))
				err = fn(arg, bytes, size, at);
		}
	}
	return err;
}
