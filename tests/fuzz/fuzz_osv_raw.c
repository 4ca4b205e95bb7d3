// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two rings of an OSv guest with arbitrary contents: the first eight bytes are the write
 * offset, the rest is one page each; tracepoints have signatures of all kinds.
 */
#include <errno.h>

#include "readers/osv/osv.h"
#include "readers/osv/raw.h"
#include "walk.h"

static int lookup(void *ctx, uint64_t key, struct osv_raw_tracepoint *ret)
{
	static const char *const signature[] = {"", "Q", "p", "b*b", "iPiq", "50pH", "zz", "**"};

	(void)ctx;
	if (key % 16 >= 8)
		return -ENOENT;
	*ret = (struct osv_raw_tracepoint){strdup("name"), strdup(signature[key % 16]),
					   strdup("%d %s %x %p")};
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t half = size > 8 ? (size - 8) / 2 : 0;
	uint8_t *mem = calloc(2, OSV_RING_PAGE);
	struct osv_raw_counts counts;
	struct sample_trace *t;
	struct osv_ring ring[2] = {{mem, OSV_RING_PAGE, 0},
				   {mem + OSV_RING_PAGE, OSV_RING_PAGE, 0}};

	if (!mem)
		abort();
	half = half < OSV_RING_PAGE ? half : OSV_RING_PAGE;
	if (half) {
		memcpy(mem, data + 8, half);
		memcpy(mem + OSV_RING_PAGE, data + 8 + half, half);
		memcpy(&ring[0].last, data, 8);
		ring[1].last = ring[0].last >> 7;
	}
	if (!osv_raw_open("fuzz", ring, 2, lookup, NULL, &t, &counts)) {
		osv_convert(t, walk_sink());
		sample_trace_close(t);
	}
	free(mem);
	return 0;
}
