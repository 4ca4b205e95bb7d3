// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The untrusted input of `stuck`: rings and descriptors in guest memory, and QEMU's structures around them. The input
 * is the memory of the process; it begins with a struct virtq_state's numbers, so that rings are reached without an
 * array of 1024 queues.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vm/virtq_requests.h"

enum { BASE = 0x100000, RAM_AT = 4096, HEAD = 64, SIZES = 11 /* 1 to 1024 */ };

static size_t image_size;
static unsigned long reads;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int image_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	reads++;
	if (addr < BASE || addr - BASE > image_size || size > image_size - (addr - BASE))
		return -EFAULT;
	memcpy(buf, (const uint8_t *)m->image + (addr - BASE), size);
	return 0;
}

static struct virtq_state state_make(const uint8_t *p)
{
	struct virtq_state s = {.ready = true, .rings = true, .size = 1u << p[0] % SIZES};

	s.packed = p[1] & 1;
	s.elsewhere = p[1] & 2;
	s.last_avail_wrap = p[1] & 4;
	s.used_wrap = p[1] & 8;
	s.last_avail_idx = (uint16_t)memory_le(p + 2, 2);
	s.used_idx = (uint16_t)memory_le(p + 4, 2);
	s.ring_avail_idx = (uint16_t)memory_le(p + 6, 2);
	s.ring_used_idx = (uint16_t)memory_le(p + 8, 2);
	s.posted = (uint32_t)memory_le(p + 10, 2);
	s.inuse = (uint32_t)memory_le(p + 12, 4);
	s.vq = memory_le(p + 16, 8);
	s.at = (struct virtq_rings){.desc = BASE + memory_le(p + 24, 2),
				    .avail = BASE + memory_le(p + 26, 2),
				    .used = BASE + memory_le(p + 28, 2)};
	if (s.packed && s.size) /* as virtq_read() */
		s.last_avail_idx %= s.size;
	return s;
}

static void requests_walk(const struct memory *m, const uint8_t *data, size_t size)
{
	struct guest_ram ram = {.base = BASE + RAM_AT,
				.low = 0xc0000000,
				.size = size > RAM_AT ? size - RAM_AT : 0};
	struct virtq_state s = state_make(data);
	struct virtq_device d = {.vdev = memory_le(data + 32, 8), .array = BASE, .vdev_offset = 96};
	struct virtq_elements elements = {0};
	struct virtq_request *list = NULL;
	struct virtio_device dev;
	struct block_backend backend;
	unsigned int nr = 0;

	virtio_device_read(m, &d, &dev);
	block_backend_read(m, d.vdev, &backend);
	block_backend_read(m, block_scsi_disk(m, d.vdev, BASE + HEAD, (uint32_t)size), &backend);
	if (virtq_elements_find(m, 0, &elements))
		return;
	struct virtq_view view = {.m = m,
				  .ram = data[1] & 16 ? NULL : &ram,
				  .elements = &elements,
				  .now_ns = UINT64_C(1) << 62};

	reads = 0;
	if (!virtq_requests_read(&view, &d, &s, &list, &nr)) {
		/* at the device and offered, each a queue at most; in total what walks over both can read */
		if (nr > 2 * s.size ||
		    reads > 8ul * (s.size + 2) * (VIRTQ_ELEMENT_SEGMENTS_MAX + elements.nr + 8))
			abort();
		for (unsigned int i = 0; i < nr; i++)
			if (list[i].descs > 2u * VIRTQ_ELEMENT_SEGMENTS_MAX)
				abort();
	}
	free(list);
	virtq_elements_free(&elements);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct memory_range range = {
		.start = BASE, .end = BASE + size + !size, .read = true, .write = true};
	struct memory m = {.read = image_read, .image = data, .range = &range, .nr = 1};

	if (size < HEAD)
		return 0;
	image_size = size;
	requests_walk(&m, data, size);
	return 0;
}
