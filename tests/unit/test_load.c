// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A BPF program that the kernel rejects is replaced by its substitute; other programs are not affected. Without SVM in
 * KVM, this is the program that reads struct vcpu_svm.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "collector/internal.h"

#include "hostrace.skel.h" /* knows record.h's types */

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

static void test_rejected(void **state)
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
	assert_non_null(
		strstr(programs[2].error, "the BPF object has no program tp_no_such_program"));
}

enum { RING_BYTES = 1 << 20 };

/*
 * Each program of KVM's, substitutes and those of `stat` included, passes this kernel's verifier. Those that
 * read what only AMD's or Intel's module has, or arm64, are tested by the rigs.
 */
static void test_each(void **state)
{
	struct hostrace *all, *skel;
	struct bpf_program *prog;
	int err;

	(void)state;
	if (privileges_check())
		skip();
	object_messages_keep();
	assert_int_equal(object_open(true, &all), 0);
	bpf_object__for_each_program (prog, all->obj) {
		const char *name = bpf_program__name(prog);

		if ((strncmp(name, "tp_", 3) && strncmp(name, "stat_", 5)) ||
		    strstr(name, "_svm") || strstr(name, "_vmx") || strstr(name, "_arm64"))
			continue;
		assert_int_equal(object_open(true, &skel), 0);
		/* A record of any size has room in a ring of real size only. */
		skel->rodata->ring_mask = RING_BYTES - 1;
		bpf_map__set_value_size(skel->maps.rings,
					RING_HEAD_BYTES + RING_BYTES + RING_SPILL_BYTES);
		bpf_program__set_autoload(bpf_object__find_program_by_name(skel->obj, name), true);
		err = object_load(skel, &skel);
		if (err)
			fail_msg("%s is rejected: %s", name, object_error(err));
		hostrace__destroy(skel);
	}
	hostrace__destroy(all);
}

static uint64_t effective(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	assert_int_equal(syscall(SYS_capget, &head, data), 0);
	return data[0].effective | (uint64_t)data[1].effective << 32;
}

/* Whether these capabilities, without any other, suffice to attach user probes. */
static bool sufficient(uint64_t caps)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {
		{.effective = (uint32_t)caps, .permitted = (uint32_t)caps},
		{.effective = (uint32_t)(caps >> 32), .permitted = (uint32_t)(caps >> 32)}};
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(syscall(SYS_capset, &head, data) || !feature_uprobes());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return !status;
}

/* The recorder keeps what this kernel needs, and finds that out without losing what it has. */
static void test_attach_caps(void **state)
{
	uint64_t before = effective(), caps;

	(void)state;
	if (privileges_check())
		skip();
	caps = collector_attach_caps();
	assert_int_equal(effective(), before);
	assert_true(caps >> CAP_BPF & 1);
	assert_true(caps >> CAP_PERFMON & 1);
	assert_true(sufficient(caps));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rejected),
		cmocka_unit_test(test_each),
		cmocka_unit_test(test_attach_caps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
