// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The untrusted input of `virtio --state`: the memory of a QEMU (searched, then read at addresses of the input)
 * and the talk of a monitor.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vm/qmp.h"
#include "vm/virtq_state.h"

enum { BASE = 0x1000, TALK_MAX = 32 << 10 };

static size_t image_size;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int image_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	if (addr < BASE || addr - BASE > image_size || size > image_size - (addr - BASE))
		return -EFAULT;
	memcpy(buf, (const uint8_t *)m->image + (addr - BASE), size);
	return 0;
}

static void memory_walk(const uint8_t *data, size_t size)
{
	struct memory_range range = {
		.start = BASE, .end = BASE + size + !size, .read = true, .write = true};
	struct memory m = {.read = image_read, .image = data, .range = &range, .nr = 1};
	struct virtq_device *found = NULL, made = {.array = BASE, .vdev_offset = 96};
	struct virtq_state s;
	unsigned int nr = 0;

	image_size = size;
	if (!virtq_devices_find(&m, 0, &found, &nr))
		for (unsigned int i = 0; i < nr; i++)
			for (unsigned int q = 0; q < 8; q++)
				virtq_read(&m, &found[i], q, &s);
	free(found);
	for (unsigned int i = 0; i < 64; i++) { /* a queue at the beginning, and further ones */
		if (virtq_read(&m, &made, i, &s) > 0 && s.packed && s.posted > s.size)
			abort();
	}
}

static void monitor_walk(const uint8_t *data, size_t size)
{
	struct virtq_qmp *list = NULL;
	unsigned int nr;
	struct qmp *q;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		abort();
	if (write(pair[1], data, size > TALK_MAX ? TALK_MAX : size) < 0)
		abort();
	shutdown(pair[1], SHUT_WR);
	if (!qmp_open_fd(pair[0], "fuzz", 1000, &q)) {
		if (!virtq_qmp_read(q, &list, &nr))
			free(list);
		qmp_close(q);
	}
	close(pair[1]);
}

static void lines_walk(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size);
	struct memory_range range;

	memory_range_parse(text, &range);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	memory_walk(data, size);
	monitor_walk(data, size);
	lines_walk(data, size);
	return 0;
}
