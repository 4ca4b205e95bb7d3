// SPDX-License-Identifier: GPL-2.0-or-later
/* record --events: sets, names, globs and exclusions. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef HOSTRACE_LIVE
#include "../../src/commands/live/record.h"

static unsigned int chosen(const char *list, bool wants[EV_LIMIT])
{
	unsigned int nr = 0;

	memset(wants, 0, EV_LIMIT * sizeof(*wants));
	assert_int_equal(events_choose(list, wants, NULL), 0);
	for (unsigned int i = 0; i < EV_LIMIT; i++)
		nr += wants[i];
	return nr;
}

static void test_sets(void **state)
{
	bool wants[EV_LIMIT];

	(void)state;
	chosen("default", wants);
	assert_true(wants[EV_kvm_exit] && wants[EV_sched_switch] && wants[EV_virtqueue_pop]);
	assert_false(wants[EV_kvm_emulate_insn]);
	chosen("kvm", wants);
	assert_true(wants[EV_kvm_exit]);
	assert_false(wants[EV_kvm_emulate_insn] || wants[EV_sched_switch] || wants[EV_vm_state]);
	chosen("all", wants);
	assert_true(wants[EV_kvm_emulate_insn]);
	assert_int_equal(chosen("sched", wants), 2);
	assert_int_equal(chosen("waits", wants), 5);
	assert_true(wants[EV_sched_switch] && wants[EV_sched_block] && wants[EV_sched_woken]);
	chosen("default", wants); /* what diagnose needs of a healthy VM, but for what only blame needs */
	assert_true(wants[EV_sched_block] && wants[EV_sched_ran]);
	assert_false(wants[EV_sched_woken] || wants[EV_sched_holder]);
}

static void test_inside(void **state)
{
	static const char *const groups[] = {"devices", "block",  "coroutines",
					     "loops",	"locks",  "kvm-calls",
					     "regions", "memory", "migration"};
	bool wants[EV_LIMIT];
	unsigned int sum = 0;

	(void)state;
	for (unsigned int i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		sum += chosen(groups[i], wants);
	assert_int_equal(sum, 43); /* 46 in probes/inside.def, three of mutexes */
	assert_int_equal(chosen("inside", wants), 43);
	assert_true(wants[EV_block_begin] && wants[EV_bql_locked] && wants[EV_heap_free]);
	assert_false(wants[EV_mutex_lock] || wants[EV_virtqueue_pop] || wants[EV_kvm_exit]);
	chosen("default", wants);
	assert_false(wants[EV_block_begin] || wants[EV_vblk_request] || wants[EV_vcpu_ioctl]);
}

static void test_names_and_globs(void **state)
{
	bool wants[EV_LIMIT];

	(void)state;
	assert_int_equal(chosen("kvm_pio", wants), 1);
	assert_true(wants[EV_kvm_pio]);
	assert_int_equal(chosen("kvm_pio,kvm_mmio", wants), 2);
	assert_int_equal(chosen("kvm_e*", wants), 4); /* exit, entry, emulate_insn, eoi */
	chosen("kvm,kvm_emulate_insn", wants);
	assert_true(wants[EV_kvm_emulate_insn]);
}

static void test_take_away(void **state)
{
	bool wants[EV_LIMIT];

	(void)state;
	chosen("default,-sched,-kvm_m*", wants);
	assert_true(wants[EV_kvm_exit]);
	assert_false(wants[EV_sched_switch] || wants[EV_kvm_mmio] || wants[EV_kvm_msr]);
	assert_int_equal(chosen("kvm_pio,-all", wants), 0);
}

static void test_unknown(void **state)
{
	bool wants[EV_LIMIT] = {false};

	(void)state;
	assert_int_equal(events_choose("kvm_exti", wants, NULL), -EINVAL);
	assert_int_equal(events_choose("kvm,nothing*", wants, NULL), -EINVAL);
}

static void test_for_analyzers(void **state)
{
	bool wants[EV_LIMIT] = {false};

	(void)state;
	assert_int_equal(events_choose_for("pio,virtqueue", wants), 0);
	assert_true(wants[EV_kvm_pio] && wants[EV_virtqueue_pop] && wants[EV_virtqueue_fill]);
	assert_false(wants[EV_kvm_mmio] || wants[EV_sched_switch]);
	memset(wants, 0, sizeof(wants));
	assert_int_equal(events_choose_for("exit-latency", wants), 0);
	assert_true(wants[EV_kvm_exit] && wants[EV_kvm_entry]);
	assert_true(wants[EV_kvm_userspace_exit] && wants[EV_kvm_run]); /* its fallback's */
	memset(wants, 0, sizeof(wants));
	assert_int_equal(events_choose_for("leaks", wants), 0);
	assert_true(wants[EV_virtqueue_unpop] && wants[EV_virtio_reset] && wants[EV_vm_state]);
	assert_false(wants[EV_kvm_exit] || wants[EV_qemu_pio]);
	memset(wants, 0, sizeof(wants));
	assert_int_equal(events_choose_for("diagnose", wants), 0); /* several reports' */
	assert_true(wants[EV_sched_holder] && wants[EV_sched_ran] && wants[EV_virtqueue_pop]);
	assert_int_equal(events_choose_for("no-such-analyzer", wants), -EINVAL);
}

/* What the report's table of handlers has, without what the collector records in any case. */
static void test_for_reports_with_handlers(void **state)
{
	static const unsigned int stops[] = {EV_vm_state,  EV_migrate_step,	  EV_kvm_exit,
					     EV_kvm_entry, EV_kvm_userspace_exit, EV_kvm_run};
	bool wants[EV_LIMIT] = {false};
	unsigned int nr = 0;

	(void)state;
	assert_int_equal(events_choose_for("downtime", wants), 0);
	for (unsigned int i = 0; i < sizeof(stops) / sizeof(stops[0]); i++)
		assert_true(wants[stops[i]]);
	for (unsigned int i = 0; i < EV_LIMIT; i++)
		nr += wants[i];
	assert_int_equal(nr, sizeof(stops) / sizeof(stops[0]));
	memset(wants, 0, sizeof(wants));
	assert_int_equal(events_choose_for("interrupts", wants), 0);
	assert_true(wants[EV_kvm_apic_accept_irq] && wants[EV_kvm_eoi] && wants[EV_kvm_set_irq] &&
		    wants[EV_kvm_write_tsc_offset]);
	assert_false(wants[EV_lost] || wants[EV_clock_pair] || wants[EV_kvm_exit]);
}

/* Compares the names of what is chosen, in the order of their ids. */
static void assert_for(const char *report, const char *names)
{
	bool wants[EV_LIMIT] = {false};
	char text[2048] = "";
	size_t len = 0;

	assert_int_equal(events_choose_for(report, wants), 0);
	for (unsigned int id = 0; id < EV_LIMIT; id++)
		if (wants[id])
			len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%s",
						len ? " " : "", event_type_ours(id)->name);
	assert_string_equal(text, names);
}

/* What they look at, but not what they use only where it was recorded for something else. */
static void test_for_reports_with_optional_events(void **state)
{
	(void)state;
	assert_for("sched", "kvm_vcpu_wakeup sched_switch sched_wakeup sched_block sched_woken "
			    "sched_ran sched_stack");
	assert_for("blame", "kvm_exit kvm_entry kvm_userspace_exit kvm_run kvm_pio kvm_mmio "
			    "kvm_inj_virq kvm_vcpu_wakeup kvm_page_fault sched_switch sched_block "
			    "sched_woken sched_ran sched_holder kvm_nested_vmexit");
	assert_for("virtio",
		   "kvm_inj_virq kvm_set_irq kvm_msi_set_irq virtqueue_pop virtqueue_fill "
		   "virtqueue_detach virtqueue_unpop virtqueue_rewind virtqueue_drop_all "
		   "virtio_queue_notify virtio_notify virtio_set_status virtio_reset "
		   "virtio_queue_reset virtio_delete_queue virtio_error virtio_device vm_state "
		   "vhost_start virtio_cleanup virtio_kind");
	assert_for("requests",
		   "kvm_exit kvm_entry kvm_userspace_exit kvm_run kvm_inj_virq kvm_set_irq "
		   "kvm_msi_set_irq sched_switch sched_woken host_io blk_request virtqueue_pop "
		   "virtqueue_fill virtqueue_detach virtqueue_unpop virtqueue_rewind "
		   "virtqueue_drop_all virtio_queue_notify virtio_notify virtio_set_status "
		   "virtio_reset virtio_queue_reset virtio_delete_queue virtio_error virtio_device "
		   "vm_state vhost_start virtio_cleanup virtio_kind net_send net_packet");
}

static void test_next(void **state)
{
	const uint64_t none[EV_LIMIT] = {0}, sched[EV_LIMIT] = {[EV_sched_switch] = 3},
		       exits[EV_LIMIT] = {[EV_sched_switch] = 3, [EV_kvm_userspace_exit] = 1},
		       pops[EV_LIMIT] = {[EV_virtqueue_pop] = 1, [EV_kvm_pio] = 1};
	char buf[64];

	(void)state;
	assert_string_equal(events_next_print(NULL, none, buf, sizeof(buf)), "list");
	assert_string_equal(events_next_print(NULL, sched, buf, sizeof(buf)), "sched");
	assert_string_equal(events_next_print(NULL, exits, buf, sizeof(buf)), "exits");
	assert_string_equal(events_next_print("blame", exits, buf, sizeof(buf)), "blame");
	assert_string_equal(events_next_print("sched,blame", exits, buf, sizeof(buf)), "sched");
	assert_string_equal(events_next_print("requests", pops, buf, sizeof(buf)),
			    "requests --stages");
	assert_string_equal(events_next_print("pio", pops, buf, sizeof(buf)), "summary pio");
	assert_string_equal(events_next_print("exits", exits, buf, sizeof(buf)), "exits");
	assert_string_equal(events_next_print("timeline", exits, buf, sizeof(buf)), "timeline");
	/* Not one that has nothing to show. */
	assert_string_equal(events_next_print("requests", exits, buf, sizeof(buf)), "exits");
	assert_string_equal(events_next_print("leaks,sched", sched, buf, sizeof(buf)), "sched");
	assert_string_equal(events_next_print("pio", sched, buf, sizeof(buf)), "sched");
	assert_string_equal(events_next_print("blame", none, buf, sizeof(buf)), "list");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_sets),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_names_and_globs),
		cmocka_unit_test(test_take_away),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_for_analyzers),
		cmocka_unit_test(test_for_reports_with_handlers),
		cmocka_unit_test(test_for_reports_with_optional_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
	puts("1..0 # SKIP built without the collector");
	return 0;
}
#endif
