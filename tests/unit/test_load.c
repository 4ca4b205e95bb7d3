// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program that the kernel refuses gives way to the one that may stand in for it, and costs the others nothing.
 * Where KVM does not know AMD's SVM that is the one that reads its struct vcpu_svm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collector/internal.h"

#include <cmocka.h>

static void loaded(struct program *programs, unsigned int nr)
{
	struct collector *c = calloc(1, sizeof(*c));

	if (privileges_check()) {
		free(c);
		skip();
	}
	assert_non_null(c);
	assert_int_equal(collector_load(c, programs, nr, 0), 0);
	collector_unload(c);
	free(c);
}

static void test_refused(void **state)
{
	struct program programs[] = {
		{.name = "tp_kvm_exit_svm", .instead = "tp_kvm_exit"},
		{.name = "tp_kvm_pio", .instead = "tp_no_such_program"},
		{.name = "tp_no_such_program"},
	};

	(void)state;
	loaded(programs, 3);
	assert_string_equal(programs[0].error, "");
	assert_non_null(strstr("tp_kvm_exit_svm tp_kvm_exit", programs[0].loaded));
	if (access("/sys/module/kvm_amd", F_OK) && access("/sys/module/kvm_intel", F_OK))
		assert_string_equal(programs[0].loaded, "tp_kvm_exit");
	assert_string_equal(programs[1].loaded, "tp_kvm_pio");
	assert_string_equal(programs[1].error, "");
	assert_non_null(strstr(programs[2].error, "no BPF program tp_no_such_program"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
