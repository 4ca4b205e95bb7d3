// SPDX-License-Identifier: GPL-2.0-or-later
/* Virtqueue elements beyond the limits on devices, VMs and threads: counted, never judged by another one's state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "pairing/elements.h"

enum { SECOND = 1000000000, PID = 10 };

static void feed(struct elements *e, unsigned int id, uint32_t pid, uint32_t tid,
		 const void *fields, size_t size)
{
	uint64_t data[64] = {0};
	const struct event_type *type = event_type_ours(id);
	struct event ev = {.time_ns = SECOND,
			   .type = type,
			   .data = (const uint8_t *)data,
			   .pid = pid,
			   .tid = tid,
			   .size = type->size};

	memcpy((uint8_t *)data + sizeof(struct record_hdr), fields, size);
	elements_event(e, &ev);
}

/* Any event of a virtqueue element, with those of its fields that matter; vq and vdev are the same number. */
static void element(struct elements *e, unsigned int id, uint32_t pid, uint32_t tid, uint64_t vdev,
		    uint32_t head)
{
	struct {
		uint64_t vq, vdev, elem;
		uint32_t head;
	} fields = {vdev, vdev, 0, head};

	feed(e, id, pid, tid, &fields, sizeof(fields));
}

static void device(struct elements *e, unsigned int id, uint32_t pid, uint64_t vdev)
{
	feed(e, id, pid, 1, &vdev, sizeof(vdev));
}

static struct element_totals end(struct elements *e)
{
	struct element_totals totals;
	struct element *list;
	size_t nr;

	assert_int_equal(elements_end(e, 10ull * SECOND, SECOND, &list, &nr, &totals), 0);
	free(list);
	return totals;
}

/* The last device is broken: it alone, not those that came after the table was full. */
static void too_many_devices(void **state)
{
	_cleanup_(elements_cleanup_) struct elements *e = elements_new();
	struct element_totals totals;
	uint64_t last = ELEMENT_DEVICES_MAX;

	(void)state;
	for (uint64_t vdev = 1; vdev <= last + 2; vdev++)
		element(e, EV_virtqueue_pop, PID, 1, vdev, 0);
	element(e, EV_virtqueue_fill, PID, 1, 1, 0);
	element(e, EV_virtqueue_fill, PID, 1, last + 1, 0);
	element(e, EV_virtqueue_fill, PID, 1, last + 9, 0);
	device(e, EV_virtio_error, PID, last + 1);
	totals = end(e);
	assert_int_equal(totals.popped, last);
	assert_int_equal(totals.returned, 1);
	assert_int_equal(totals.before, 0);
	assert_int_equal(totals.leaked, last - 1);
	assert_int_equal(totals.other, 0);
	assert_int_equal(totals.unchecked_devices, 5);
	assert_int_equal(totals.unchecked_vms, 0);
}

/* One VM stands still from its beginning: its elements do not age, those of others do. */
static void too_many_vms(void **state)
{
	_cleanup_(elements_cleanup_) struct elements *e = elements_new();
	struct element_totals totals;
	uint32_t last = PID + ELEMENT_VMS_MAX - 1, stopped[2] = {0};

	(void)state;
	for (uint32_t pid = PID; pid <= last; pid++)
		element(e, EV_virtqueue_pop, pid, 1, 1, 0);
	feed(e, EV_vm_state, last + 1, 1, stopped, sizeof(stopped));
	element(e, EV_virtqueue_pop, last + 1, 1, 1, 0);
	element(e, EV_virtqueue_fill, last + 1, 1, 1, 0);
	totals = end(e);
	assert_int_equal(totals.leaked, ELEMENT_VMS_MAX);
	assert_int_equal(totals.in_flight, 0);
	assert_int_equal(totals.before, 0);
	assert_int_equal(totals.unchecked_vms, 3);
	assert_int_equal(totals.unchecked_devices, 0);
}

/* Threads inside virtqueue_drop_all: a further one does not end what another one does. */
static void too_many_threads(void **state)
{
	_cleanup_(elements_cleanup_) struct elements *e = elements_new();
	struct element_totals totals;

	(void)state;
	for (uint32_t tid = 1; tid <= ELEMENT_DROPPING_MAX + 1; tid++)
		element(e, EV_virtqueue_drop_all, PID, tid, 1, 0);
	for (uint32_t tid = 1; tid <= ELEMENT_DROPPING_MAX; tid++)
		element(e, EV_virtqueue_fill, PID, tid, 1, tid);
	totals = end(e);
	assert_int_equal(totals.before, 0);
	assert_int_equal(totals.unchecked_threads, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_devices),
		cmocka_unit_test(too_many_vms),
		cmocka_unit_test(too_many_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
