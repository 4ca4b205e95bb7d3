// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/page.h"

enum { US = 1000, PID = 10 };

static void feed(struct exported_devices *d, unsigned int id, uint32_t pid, uint64_t time_ns,
		 const void *fields, size_t size)
{
	uint64_t data[64] = {0};
	const struct event_type *type = event_type_ours(id);
	struct event ev = {.time_ns = time_ns,
			   .type = type,
			   .data = (const uint8_t *)data,
			   .pid = pid,
			   .tid = pid,
			   .size = type->size};

	memcpy((uint8_t *)data + sizeof(struct record_hdr), fields, size);
	assert_int_equal(exported_devices_event(d, &ev), 0);
}

static void name(struct exported_devices *d, uint32_t pid, uint64_t vdev, const char *device)
{
	struct {
		uint64_t vdev;
		char path[128];
	} fields = {.vdev = vdev};

	snprintf(fields.path, sizeof(fields.path), "/machine/peripheral/%s/virtio-backend", device);
	feed(d, EV_virtio_device, pid, 0, &fields, sizeof(fields));
}

/* Any event of a virtqueue element, with those of its fields that matter; vq and vdev are the same number. */
static void element(struct exported_devices *d, unsigned int id, uint32_t pid, uint64_t time_ns,
		    uint64_t vdev, uint32_t head)
{
	struct {
		uint64_t vq, vdev, elem;
		uint32_t head;
	} fields = {vdev, vdev, 0, head};

	feed(d, id, pid, time_ns, &fields, sizeof(fields));
}

static void notification(struct exported_devices *d, unsigned int id, uint64_t vdev)
{
	const uint64_t fields[] = {vdev, vdev};

	feed(d, id, PID, 0, fields, sizeof(fields));
}

static const struct exported_device *find(const struct exported_devices *d, pid_t pid,
					  const char *device)
{
	const struct exported_device *at;

	for (unsigned int i = 0; (at = exported_devices_at(d, i)); i++)
		if (at->pid == pid && !strcmp(at->name, device))
			return at;
	return NULL;
}

static void requests(void **state)
{
	_cleanup_(exported_devices_cleanup_) struct exported_devices *d = exported_devices_new(4);
	const struct exported_device *disk;

	(void)state;
	name(d, PID, 1, "disk");
	element(d, EV_virtqueue_pop, PID, 1000 * US, 1, 7);
	element(d, EV_virtqueue_pop, PID, 1000 * US, 1, 8);
	element(d, EV_virtqueue_pop, PID, 1500 * US, 1, 9);
	element(d, EV_virtqueue_fill, PID, 1001 * US, 1, 7); /* 1 us: in the first bucket */
	element(d, EV_virtqueue_fill, PID, 1003 * US, 1, 8); /* 3 us: up to 4.096 us */
	element(d, EV_virtqueue_fill, PID, 1003 * US, 1, 20); /* begun before: its time is unknown */
	notification(d, EV_virtio_queue_notify, 1);
	notification(d, EV_virtio_queue_notify, 1);
	notification(d, EV_virtio_notify, 1);
	for (int reading = 0; reading < 2; reading++) { /* the second one finds the same */
		assert_int_equal(exported_devices_read(d, 2000 * US), 0);
		disk = find(d, PID, "disk");
		assert_non_null(disk);
		assert_int_equal(disk->requests, 2);
		assert_int_equal(disk->in_flight, 1);
		assert_int_equal(disk->oldest_ns, 500 * US);
	}
	assert_int_equal(disk->kicks, 2);
	assert_int_equal(disk->interrupts, 1);
	assert_int_equal(disk->bucket[0], 1);
	assert_int_equal(disk->bucket[2], 1);
	assert_int_equal(disk->total_ns, 4 * US);
}

/* The balloon keeps an element of its third queue by design. */
static void what_is_held_is_not_in_flight(void **state)
{
	_cleanup_(exported_devices_cleanup_) struct exported_devices *d = exported_devices_new(4);
	struct {
		uint64_t vq, vdev, elem;
		uint32_t head, in_num, out_num, ndescs, queue;
	} pop = {.vq = 1, .vdev = 1, .head = 3, .queue = 2};

	(void)state;
	name(d, PID, 1, "balloon0");
	feed(d, EV_virtqueue_pop, PID, US, &pop, sizeof(pop));
	for (int reading = 0; reading < 2; reading++) {
		assert_int_equal(exported_devices_read(d, 2000 * US), 0);
		assert_int_equal(find(d, PID, "balloon0")->in_flight, 0);
	}
}

static void further_devices_share_a_series(void **state)
{
	_cleanup_(exported_devices_cleanup_) struct exported_devices *d = exported_devices_new(2);
	static const char *const names[] = {"a", "b", "c", "d"};

	(void)state;
	for (uint64_t vdev = 0; vdev < 4; vdev++)
		name(d, PID, vdev, names[vdev]);
	name(d, PID + 1, 1, "c");
	for (uint64_t vdev = 0; vdev < 4; vdev++)
		notification(d, EV_virtio_queue_notify, vdev);
	assert_int_equal(find(d, PID, "b")->kicks, 1);
	assert_null(find(d, PID, "c"));
	assert_int_equal(find(d, PID, "other")->kicks, 2);
	assert_non_null(find(d, PID + 1, "c"));
}

static void names_and_addresses_come_back(void **state)
{
	_cleanup_(exported_devices_cleanup_) struct exported_devices *d = exported_devices_new(4);

	(void)state;
	name(d, PID, 1, "disk");
	notification(d, EV_virtio_queue_notify, 1);
	name(d, PID, 1, "net"); /* another device at this address */
	notification(d, EV_virtio_queue_notify, 1);
	name(d, PID, 2, "disk"); /* plugged in again */
	notification(d, EV_virtio_queue_notify, 2);
	assert_int_equal(find(d, PID, "disk")->kicks, 2);
	assert_int_equal(find(d, PID, "net")->kicks, 1);
	exported_devices_forget(d, PID);
	assert_null(find(d, PID, "disk"));
	assert_null(find(d, PID, "net"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests),
		cmocka_unit_test(what_is_held_is_not_in_flight),
		cmocka_unit_test(further_devices_share_a_series),
		cmocka_unit_test(names_and_addresses_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
