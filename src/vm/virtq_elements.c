// SPDX-License-Identifier: GPL-2.0-or-later
/* Searches the heap of a process: private anonymous memory, but neither guest memory nor code that it generated. */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "base/order.h"
#include "vm/virtq_requests.h"

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

/*
 * QEMU's own copies of requests: the VirtQueueElements in its heap.
 *
 * virtqueue_pop() allocates a device's request with a VirtQueueElement at its beginning, followed by four
 * arrays: the guest addresses of the element's buffers and where QEMU has them mapped (virtqueue_alloc_element(), the
 * same from 2.6 to 11.1). The element points to all four, so its two counts are there twice, and the size of the
 * device's request is known, too:
 *
 *   address ─► index len ndescs out_num in_num  in_addr ──┐  ...device's request...  ┌─► guest addresses in, out
 *              ▲                                          └──────────────────────────┘   then iovecs in, out
 *
 * A freed request does not pass: the allocator's list pointers are over its counts. Where an allocator merged it with
 * its neighbours it may; callers compare with the ring and with the queue's count.
 */

enum {
	ELEM_NDESCS = 8,
	ELEM_OUT_NUM = 12,
	ELEM_IN_NUM = 16,
	ELEM_IN_ADDR = 24,
	ELEM_OUT_ADDR = 32,
	ELEM_IN_SG = 40,
	ELEM_OUT_SG = 48,
	ELEM_BYTES = 56,
	REQUEST_MAX = 2048, /* the device's request, with the element */
	IOVEC_BYTES = 16,
	INDEX_MAX = 65535,

	BLK_SECTOR_BYTES = 8, /* sector_num: VirtIOSCSIReq {elem, dev, vq, ...} has none */
	/* From dev on: VirtIOBlockReq {elem, sector_num, dev, vq, two IOVDiscardUndo, in, out, qiov, ..., acct} */
	BLK_OUT = 72,
	BLK_ACCT_BYTES = 24, /* {int64 bytes, int64 start_time_ns, enum type} */
	BLK_ACCT_START = 8,
	BLK_BYTES = BLK_OUT + 16 + BLK_ACCT_BYTES, /* at least */
};

struct finding {
	const struct memory *m;
	struct virtq_elements *found;
};

/* Do the four pointers follow each other as virtqueue_alloc_element() lays them out? */
static bool is_element(const uint8_t *p, uint64_t address, struct virtq_element *ret)
{
	uint64_t in_addr = memory_le(p + ELEM_IN_ADDR, 8);
	uint64_t bytes = in_addr - address;

	if (in_addr < address + ELEM_BYTES || bytes > REQUEST_MAX || bytes & 7)
		return false;
	*ret = (struct virtq_element){
		.address = address,
		.bytes = (uint32_t)bytes,
		.index = (uint32_t)memory_le(p, 4),
		.ndescs = (uint32_t)memory_le(p + ELEM_NDESCS, 4),
		.out_num = (uint32_t)memory_le(p + ELEM_OUT_NUM, 4),
		.in_num = (uint32_t)memory_le(p + ELEM_IN_NUM, 4),
	};
	uint64_t out_addr = in_addr + 8ull * ret->in_num, in_sg = out_addr + 8ull * ret->out_num,
		 out_sg = in_sg + (uint64_t)IOVEC_BYTES * ret->in_num;

	return ret->index <= INDEX_MAX && ret->out_num <= VIRTQ_ELEMENT_SEGMENTS_MAX &&
	       ret->in_num <= VIRTQ_ELEMENT_SEGMENTS_MAX && ret->out_num + ret->in_num &&
	       memory_le(p + ELEM_OUT_ADDR, 8) == out_addr &&
	       memory_le(p + ELEM_IN_SG, 8) == in_sg && memory_le(p + ELEM_OUT_SG, 8) == out_sg;
}

static int bytes_search(void *arg, const uint8_t *bytes, size_t size, uint64_t base)
{
	struct finding *f = arg;
	struct virtq_elements *all = f->found;

	for (size_t i = 0; i + ELEM_BYTES <= size; i += HEAP_ALIGN) {
		struct virtq_element one;
		uint8_t first[8];

		if (!is_element(bytes + i, base + i, &one))
			continue;
		if (all->nr == VIRTQ_ELEMENTS_MAX) {
			all->more = true;
			return 0;
		}
		/* addresses in come first, then those out; an element's chain begins with those out */
		if (memory_read(f->m,
				one.address + one.bytes + (one.out_num ? 8ull * one.in_num : 0),
				first, sizeof(first)))
			continue;
		one.first = memory_le(first, 8);
		if (array_add(all->list, all->nr, one))
			return -ENOMEM;
	}
	return 0;
}

ORDER_BY(by_index, struct virtq_element, index, address)

/* Pieces overlap: what begins in the overlap is found twice. */
static void duplicates_drop(struct virtq_elements *e)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < e->nr; i++)
		if (!kept || e->list[i].address != e->list[kept - 1].address)
			e->list[kept++] = e->list[i];
	e->nr = kept;
}

int virtq_elements_find(const struct memory *m, uint64_t skip_bytes, struct virtq_elements *ret)
{
	struct finding f = {.m = m, .found = ret};

	*ret = (struct virtq_elements){0};
	int err = heap_search(m, skip_bytes, ELEM_BYTES, bytes_search, &f);

	if (err) {
		virtq_elements_free(ret);
		return err;
	}
	if (ret->nr)
		qsort(ret->list, ret->nr, sizeof(*ret->list), by_index);
	duplicates_drop(ret);
	return 0;
}

void virtq_elements_free(struct virtq_elements *e)
{
	free(e->list);
	*e = (struct virtq_elements){0};
}

const struct virtq_element *virtq_elements_of(const struct virtq_elements *e, uint32_t index)
{
	size_t at = array_prefix(e->nr, i, e->list[i].index < index);

	return at < e->nr && e->list[at].index == index ? &e->list[at] : NULL;
}

/* ---- virtio-blk ---- */

bool virtq_element_block(const struct memory *m, const struct virtq_element *e, uint64_t vdev,
			 uint64_t vq, uint64_t now_ns, struct virtq_block_note *ret)
{
	uint8_t p[REQUEST_MAX];
	size_t at = ELEM_BYTES + BLK_SECTOR_BYTES;

	if (e->bytes > sizeof(p) || memory_read(m, e->address, p, e->bytes))
		return false;
	while (at + BLK_BYTES <= e->bytes &&
	       (memory_le(p + at, 8) != vdev || memory_le(p + at + 8, 8) != vq))
		at += 8;
	if (at + BLK_BYTES > e->bytes)
		return false;
	ret->type = (uint32_t)memory_le(p + at + BLK_OUT, 4);
	ret->sector = memory_le(p + at + BLK_OUT + 8, 8);
	ret->begin_ns = memory_le(p + e->bytes - BLK_ACCT_BYTES + BLK_ACCT_START, 8);
	if (ret->begin_ns > now_ns)
		ret->begin_ns = 0;
	return true;
}
