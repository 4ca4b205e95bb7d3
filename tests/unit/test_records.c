// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "event/guest_fields.h"
#include "event/records.h"

enum { HEAD = sizeof(struct record_hdr) };

static struct event event_of(const struct event_type *type, const void *data, size_t size)
{
	return (struct event){.type = type, .data = data, .size = (uint16_t)size};
}

static const struct event_type *registered(const char *name, const struct field *f, uint16_t nr,
					   uint16_t size)
{
	const struct event_type *made;

	assert_int_equal(event_type_register(&(struct event_type){.name = name, .doc = "",
								  .fields = f, .nr_fields = nr,
								  .size = size},
					     &made),
			 0);
	return made;
}

static void own_records_are_not_copied(void **state)
{
	struct rec_kvm_exit data = {.rip = 23, .info1 = 17, .reason = 30, .isa = 1};
	struct event ev = event_of(event_type_ours(EV_kvm_exit), &data, sizeof(data));
	RECORD(kvm_exit, exit, &ev);

	(void)state;
	assert_ptr_equal(exit, &data);
	assert_int_equal(exit->reason, 30);
	assert_true(record_has(&ev, kvm_exit, rip) && record_has(&ev, kvm_exit, info1) &&
		    record_has(&ev, kvm_exit, info2) && record_has(&ev, kvm_exit, reason) &&
		    record_has(&ev, kvm_exit, isa));
}

/* Other order and sizes, one field less and one more. */
static void other_schemas_are_copied(void **state)
{
	static const struct field f[] = {{"isa", "isa", "", FIELD_UINT, HEAD, 2},
					 {"reason", "reason", "", FIELD_UINT, HEAD + 2, 8},
					 {"newer", "dec", "", FIELD_UINT, HEAD + 10, 1},
					 {"rip", "addr", "", FIELD_UINT, HEAD + 11, 4}};
	uint8_t data[HEAD + 16] = {[HEAD] = 2, [HEAD + 2] = 0x7b, [HEAD + 11] = 23};
	struct event ev = event_of(registered("kvm_exit", f, 4, sizeof(data)), data, sizeof(data));
	RECORD(kvm_exit, exit, &ev);

	(void)state;
	assert_int_equal(exit->isa, 2);
	assert_int_equal(exit->reason, 0x7b);
	assert_int_equal(exit->rip, 23);
	assert_int_equal(exit->info1, 0);
	assert_true(record_has(&ev, kvm_exit, isa) && record_has(&ev, kvm_exit, rip));
	assert_false(record_has(&ev, kvm_exit, info1) || record_has(&ev, kvm_exit, info2));
}

static void signs_and_texts_are_kept(void **state)
{
	static const struct field f[] = {{"guest_tid", "dec", "", FIELD_SINT, HEAD, 1},
					 {"guest_comm", "text", "", FIELD_TEXT, HEAD + 1, 20},
					 {"task", "text", "", FIELD_TEXT, HEAD + 21, 3}};
	uint8_t data[HEAD + 24] = {[HEAD] = 0xf9};
	struct event ev =
		event_of(registered("guest_task", f, 3, sizeof(data)), data, sizeof(data));
	char comm[16];

	(void)state;
	memcpy(data + HEAD + 1, "a name of 19 bytes.", 20);
	RECORD(guest_task, task, &ev);
	assert_int_equal(task->guest_tid, -7);
	assert_string_equal(RECORD_TEXT(task, guest_comm, comm), "a name of 19 by");
	assert_false(record_has(&ev, guest_task, task)); /* a text where ours is a number */
	assert_int_equal(task->task, 0);
}

/* What a reader makes where the kernel's tracepoint lacks a field. */
static void types_may_lack_fields(void **state)
{
	const struct event_type *type =
		event_type_with(EV_sched_switch, RECORD_BIT(sched_switch, prev_tid) |
							 RECORD_BIT(sched_switch, next_comm));
	struct rec_sched_switch data = {.prev_tid = 1017};
	struct event ev = event_of(type, &data, sizeof(data));
	RECORD(sched_switch, r, &ev);

	(void)state;
	assert_int_equal(type->id, EV_sched_switch);
	assert_int_equal(type->nr_fields, 2);
	assert_ptr_equal(r, &data);
	assert_int_equal(r->prev_tid, 1017);
	assert_true(record_has(&ev, sched_switch, next_comm));
	assert_false(record_has(&ev, sched_switch, prev_state) ||
		     record_has(&ev, sched_switch, next_tid));
	assert_ptr_equal(event_type_with(EV_sched_switch, UINT64_MAX),
			 event_type_ours(EV_sched_switch));
}

static void texts_without_an_end_are_ended(void **state)
{
	struct rec_thread data;
	struct event ev = event_of(event_type_ours(EV_thread), &data, sizeof(data));
	char comm[40], small[4];

	(void)state;
	memset(&data, 'x', sizeof(data));
	RECORD(thread, r, &ev);
	assert_string_equal(RECORD_TEXT(r, comm, comm), "xxxxxxxxxxxxxxxx");
	assert_string_equal(RECORD_TEXT(r, comm, small), "xxx");
}

static void records_that_are_no_struct_are_copied(void **state)
{
	uint8_t data[sizeof(struct rec_kvm_eoi) + 1] __attribute__((aligned(8))) = {0};
	struct rec_kvm_eoi rec = {.apic_id = 7, .vector = -1};
	struct event ev = event_of(event_type_ours(EV_kvm_eoi), data + 1, sizeof(rec));

	(void)state;
	memcpy(data + 1, &rec, sizeof(rec));
	RECORD(kvm_eoi, unaligned, &ev);
	assert_int_equal(unaligned->apic_id, 7);
	assert_int_equal(unaligned->vector, -1);
	ev.size = HEAD + 4; /* shorter than its type */
	RECORD(kvm_eoi, cut, &ev);
	assert_int_equal(cut->apic_id, 7);
	assert_int_equal(cut->vector, 0);
	RECORD(kvm_pv_eoi, other, &ev); /* of another type */
	assert_int_equal(other->apic_id, 0);
}

static void fields_of_guests_are_bound(void **state)
{
	static const struct field f[] = {{"next_pid", "dec", "", FIELD_SINT, HEAD, 4},
					 {"next_comm", "text", "", FIELD_TEXT, HEAD + 4, 4}};
	uint8_t data[HEAD + 8] = {[HEAD] = 107, [HEAD + 4] = 'd', [HEAD + 5] = 'd'};
	struct event ev =
		event_of(registered("guest:sched_switch", f, 2, sizeof(data)), data, sizeof(data));
	uint64_t number = 0;
	char comm[16] = "";

	(void)state;
	assert_true(guest_number(&ev, next_pid, &number));
	assert_int_equal(number, 107);
	assert_true(guest_text(&ev, next_comm, comm, sizeof(comm)));
	assert_string_equal(comm, "dd");
	assert_false(guest_number(&ev, prev_pid, &number));
	assert_false(guest_text(&ev, prev_comm, comm, sizeof(comm)));
	assert_int_equal(kernel_event_named("task:task_rename"), GUEST_TASK_RENAME);
	assert_int_equal(kernel_event_named("guest:task_rename"), GUEST_TASK_RENAME);
	assert_int_equal(guest_event_named("task:task_rename"), GUEST_OTHER);
	assert_int_equal(kernel_event_named("other:task_rename"), GUEST_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_records_are_not_copied),
		cmocka_unit_test(other_schemas_are_copied),
		cmocka_unit_test(signs_and_texts_are_kept),
		cmocka_unit_test(types_may_lack_fields),
		cmocka_unit_test(texts_without_an_end_are_ended),
		cmocka_unit_test(records_that_are_no_struct_are_copied),
		cmocka_unit_test(fields_of_guests_are_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
