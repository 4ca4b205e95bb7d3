// SPDX-License-Identifier: GPL-2.0-or-later
/* The probe sites of a program that pretends to be QEMU 11.1: functions that it renamed or no longer has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include "collector/plan.h"

#include <cmocka.h>

const char *volatile version = "QEMU emulator version 11.1.3 (pretended)\n";

asm(".pushsection .text\n"
    "	.globl virtio_notify, qemu_savevm_state_non_iterable\n"
    "	.type virtio_notify, @function\n"
    "	.type qemu_savevm_state_non_iterable, @function\n"
    "virtio_notify:\n"
    "qemu_savevm_state_non_iterable:\n"
    "	endbr64\n"
    "	push	%rbx\n"
    "	pop	%rbx\n"
    "	ret\n"
    "	.size virtio_notify, . - virtio_notify\n"
    "	.size qemu_savevm_state_non_iterable, . - qemu_savevm_state_non_iterable\n"
    ".popsection\n");

static void sites(void **state)
{
	const struct probe_plan *p;
	struct plan plan;

	(void)state;
	assert_true(*version);
	assert_int_equal(0, plan_make("/proc/self/exe", &plan));
	assert_string_equal("11.1.3", plan.version);
	assert_string_equal("", plan.note); /* its structures were verified */
	assert_int_equal(96, plan.layout.vq_vdev);

	p = plan_of(&plan, "virtio_notify"); /* virtio_notify_irqfd is not missed */
	assert_int_equal(PROBE_FUNCTION, p->how);
	assert_null(strstr(p->reason, "functions found"));
	assert_string_equal("push", p->place[0].insn); /* not the endbr64, which is expensive */
	p = plan_of(&plan, "migrate_step");
	assert_int_equal(PROBE_FUNCTION, p->how);
	assert_string_equal("fn_migrate_step_save_devices", p->place[0].program);
	assert_non_null(strstr(p->reason, "1 of 4 functions"));
	plan_free(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(sites)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
