// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of exit reasons against the kernel's header, as far as the one installed here has them. */
#include <linux/kvm.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "event/exit_reason.h"

#define SAME(name) assert_string_equal(userspace_reason_name(name), #name)

static void userspace_reasons_are_those_of_the_kernel(void **state)
{
	(void)state;
	SAME(KVM_EXIT_UNKNOWN);
	SAME(KVM_EXIT_IO);
	SAME(KVM_EXIT_MMIO);
	SAME(KVM_EXIT_INTERNAL_ERROR);
	SAME(KVM_EXIT_S390_TSCH);
	SAME(KVM_EXIT_SYSTEM_EVENT);
	SAME(KVM_EXIT_HYPERV);
	SAME(KVM_EXIT_X86_RDMSR);
	SAME(KVM_EXIT_X86_WRMSR);
	SAME(KVM_EXIT_DIRTY_RING_FULL);
	SAME(KVM_EXIT_AP_RESET_HOLD);
	SAME(KVM_EXIT_X86_BUS_LOCK);
	SAME(KVM_EXIT_XEN);
	SAME(KVM_EXIT_RISCV_SBI);
#ifdef KVM_EXIT_NOTIFY
	SAME(KVM_EXIT_RISCV_CSR);
	SAME(KVM_EXIT_NOTIFY);
#endif
#ifdef KVM_EXIT_MEMORY_FAULT
	SAME(KVM_EXIT_LOONGARCH_IOCSR);
	SAME(KVM_EXIT_MEMORY_FAULT);
#endif
#ifdef KVM_EXIT_TDX
	SAME(KVM_EXIT_TDX);
#endif
	/* newer than the headers of some builds */
	assert_string_equal(userspace_reason_name(41), "KVM_EXIT_ARM_SEA");
	assert_string_equal(userspace_reason_name(42), "KVM_EXIT_ARM_LDST64B");
	assert_string_equal(userspace_reason_name(43), "KVM_EXIT_SNP_REQ_CERTS");
	assert_null(userspace_reason_name(1000));
}

static void halts_of_each_architecture_are_idle(void **state)
{
	(void)state;
	assert_true(exit_is_halt(12, EXIT_ISA_VMX));
	assert_true(exit_is_halt(0x78, EXIT_ISA_SVM));
	assert_true(exit_is_halt(0xa6, EXIT_ISA_SVM)); /* idle-halt */
	assert_true(exit_is_halt(1, EXIT_ISA_ARM64));  /* WFx */
	assert_false(exit_is_halt(1, EXIT_ISA_VMX));
	assert_true(exit_reason_is_idle(exit_reason_name(0xa6, EXIT_ISA_SVM)));
	assert_true(exit_reason_is_idle(exit_reason_name(1, EXIT_ISA_ARM64)));
	assert_false(exit_reason_is_idle("npf"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(userspace_reasons_are_those_of_the_kernel),
		cmocka_unit_test(halts_of_each_architecture_are_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
