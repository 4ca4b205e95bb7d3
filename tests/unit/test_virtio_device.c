// SPDX-License-Identifier: GPL-2.0-or-later
/* A virtio device's name, status and features in simulated memory of QEMU, as its releases arrange them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "vm/virtq_requests.h"

enum {
	BASE = 0x10000000,
	BYTES = 8192,
	NAME = 4096,
	ARRAY = 0x20000000, /* is not read */
	OFFERED = 0x79000006,
	ACCEPTED = 0x39000004,
};

static uint8_t bytes[BYTES];

static int image_read(const struct memory *m, uint64_t addr, void *buf, size_t size)
{
	if (addr < BASE || addr - BASE > BYTES || size > BYTES - (addr - BASE))
		return -EFAULT;
	memcpy(buf, (const uint8_t *)m->image + (addr - BASE), size);
	return 0;
}

static void put(size_t at, uint64_t v, size_t size)
{
	memcpy(bytes + at, &v, size);
}

static struct virtio_device device_read(void)
{
	const struct memory m = {.read = image_read, .image = bytes};
	const struct virtq_device d = {.vdev = BASE, .array = ARRAY, .vdev_offset = 96};
	struct virtio_device v;

	virtio_device_read(&m, &d, &v);
	return v;
}

/* One whose members are so far before VirtIODevice.vq, which is at `vq`. */
static struct virtio_device device_of(size_t vq, size_t name, size_t offered, size_t accepted)
{
	memset(bytes, 0, sizeof(bytes));
	strcpy((char *)bytes + NAME, "virtio-blk");
	put(vq, ARRAY, 8);
	put(vq - name, BASE + NAME, 8);
	put(vq - name + 8, 15, 1);
	put(vq - name + 9, 1, 1);
	put(vq - offered, OFFERED, 8);
	put(vq - accepted, ACCEPTED, 8);
	return device_read();
}

static void is_known(struct virtio_device v)
{
	assert_true(v.known);
	assert_string_equal(v.name, "virtio-blk");
	assert_int_equal(v.status, 15);
	assert_int_equal(v.isr, 1);
	assert_int_equal(v.features, ACCEPTED);
}

static void each_release(void **state)
{
	(void)state;
	is_known(device_of(232, 72, 48, 56)); /* 7.2 */
	is_known(device_of(224, 72, 56, 48)); /* 10.0: what is offered is first */
	is_known(device_of(248, 96, 80, 64)); /* 11.1: features are 128 bits long */
}

static void unknown_arrangement(void **state)
{
	struct virtio_device v = device_of(248, 120, 80, 64);

	(void)state;
	assert_false(v.known);
	assert_string_equal(v.name, "");
	assert_int_equal(v.status, 0);
	memset(bytes, 0, sizeof(bytes)); /* and without VirtIODevice.vq */
	assert_false(device_read().known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_release),
		cmocka_unit_test(unknown_arrangement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
