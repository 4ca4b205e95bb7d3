// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/page.h"

/* QEMU's run states. */
enum { PAUSED = 4, FINISH_MIGRATE = 7, RUNNING = 9, UNKNOWN = EXPORT_STATES - 1 };
enum { SAVE_RAM = 1, SAVE_DEVICES, LOAD, LOADED };
enum { RED = 10, BLUE = 20 };

static void feed(struct exported_downtime *d, unsigned int id, uint32_t pid, uint64_t time_ns,
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
	assert_int_equal(exported_downtime_event(d, &ev), 0);
}

static void stops(struct exported_downtime *d, uint32_t pid, uint64_t time_ns, uint32_t state)
{
	feed(d, EV_vm_state, pid, time_ns, (const uint32_t[]){false, state}, 8);
}

static void starts(struct exported_downtime *d, uint32_t pid, uint64_t time_ns)
{
	feed(d, EV_vm_state, pid, time_ns, (const uint32_t[]){true, RUNNING}, 8);
}

static void step(struct exported_downtime *d, uint32_t pid, uint64_t time_ns, uint64_t step)
{
	feed(d, EV_migrate_step, pid, time_ns, &step, sizeof(step));
}

static void vm_has(struct exported_downtime *d, pid_t pid, unsigned int state, uint64_t nr,
		   uint64_t ns)
{
	struct exported_stops s = exported_downtime_of(d, pid, state);

	assert_int_equal(s.nr, nr);
	assert_int_equal(s.ns, ns);
}

static uint64_t phase(struct exported_downtime *d, enum stop_point from)
{
	return exported_downtime_phases(d, FINISH_MIGRATE)->ns[from];
}

static void pauses(void **state)
{
	_cleanup_(exported_downtime_cleanup_) struct exported_downtime *d = exported_downtime_new();

	(void)state;
	starts(d, RED, 50); /* of a VM that was stopped before */
	stops(d, RED, 100, PAUSED);
	exported_downtime_read(d, 130);
	vm_has(d, RED, PAUSED, 1, 30);
	assert_int_equal(exported_downtime_phases(d, PAUSED)->nr, 0);
	stops(d, RED, 140, PAUSED); /* it is already */
	starts(d, RED, 150);
	stops(d, RED, 200, PAUSED);
	starts(d, RED, 207);
	stops(d, RED, 300, 99);
	exported_downtime_read(d, 301);
	vm_has(d, RED, PAUSED, 2, 57);
	vm_has(d, RED, UNKNOWN, 1, 1);
	vm_has(d, BLUE, PAUSED, 0, 0);
	assert_int_equal(exported_downtime_phases(d, PAUSED)->nr, 2);
	assert_int_equal(exported_downtime_phases(d, PAUSED)->ns[STOP_STOPPED], 57);
	exported_downtime_read(d, 401);
	vm_has(d, RED, PAUSED, 2, 57);
	vm_has(d, RED, UNKNOWN, 1, 101);
}

/* To another host: the time is known until the devices' state is written; to BLUE: until that one runs. */
static void migrations(void **state)
{
	_cleanup_(exported_downtime_cleanup_) struct exported_downtime *d = exported_downtime_new();

	(void)state;
	stops(d, RED, 100, FINISH_MIGRATE);
	step(d, RED, 110, SAVE_RAM);
	exported_downtime_read(d, 120);
	vm_has(d, RED, FINISH_MIGRATE, 1, 20);
	assert_int_equal(exported_downtime_phases(d, FINISH_MIGRATE)->nr, 0);
	step(d, RED, 130, SAVE_DEVICES);
	exported_downtime_read(d, 1000);
	vm_has(d, RED, FINISH_MIGRATE, 1, 30);
	assert_int_equal(exported_downtime_phases(d, FINISH_MIGRATE)->nr, 1);
	step(d, BLUE, 1200, LOADED);
	starts(d, BLUE, 1205);
	exported_downtime_read(d, 2000);
	vm_has(d, RED, FINISH_MIGRATE, 1, 1105);
	vm_has(d, BLUE, FINISH_MIGRATE, 0, 0);
	assert_int_equal(exported_downtime_phases(d, FINISH_MIGRATE)->nr, 1);
	assert_int_equal(phase(d, STOP_STOPPED), 10);
	assert_int_equal(phase(d, STOP_SAVE_RAM), 20);
	assert_int_equal(phase(d, STOP_SAVE_DEVICES), 1070);
	assert_int_equal(phase(d, STOP_LOADED), 5);
}

/* Its series end, the host's do not; another process with its pid begins at zero. */
static void ends(void **state)
{
	_cleanup_(exported_downtime_cleanup_) struct exported_downtime *d = exported_downtime_new();

	(void)state;
	stops(d, BLUE, 50, PAUSED);
	stops(d, RED, 100, FINISH_MIGRATE);
	step(d, RED, 110, SAVE_RAM);
	step(d, RED, 130, SAVE_DEVICES);
	exported_downtime_forget(d, RED);
	for (unsigned int i = 0; i < 2; i++) {
		exported_downtime_read(d, 200);
		vm_has(d, RED, FINISH_MIGRATE, 0, 0);
		vm_has(d, BLUE, PAUSED, 1, 150);
		assert_int_equal(exported_downtime_phases(d, FINISH_MIGRATE)->nr, 1);
		assert_int_equal(phase(d, STOP_SAVE_RAM), 20);
	}
	stops(d, RED, 300, PAUSED);
	starts(d, BLUE, 400);
	starts(d, RED, 410);
	exported_downtime_read(d, 500);
	vm_has(d, RED, PAUSED, 1, 110);
	vm_has(d, BLUE, PAUSED, 1, 350);
	assert_int_equal(exported_downtime_phases(d, PAUSED)->nr, 2);
	/* killed while it was stopped */
	stops(d, RED, 600, PAUSED);
	exported_downtime_forget(d, RED);
	exported_downtime_read(d, 700);
	vm_has(d, RED, PAUSED, 0, 0);
	assert_int_equal(exported_downtime_phases(d, PAUSED)->nr, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pauses), cmocka_unit_test(migrations),
					   cmocka_unit_test(ends)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
