// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/vm.h"

#define UID "0a1b2c3d-1111-2222-3333-444455556666"

static void pods(void **state)
{
	static const struct {
		const char *cgroup, *domain, *uid, *namespace;
	} cases[] = {
		/* the cgroup drivers systemd and cgroupfs */
		{"/kubepods.slice/kubepods-burstable.slice/"
		 "kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666.slice/"
		 "cri-containerd-0123456789abcdef0123456789abcdef.scope",
		 "shop_web1", UID, "shop"},
		{"/kubepods/besteffort/pod" UID "/0123456789abcdef", "shop_web1", UID, "shop"},
		/* a QEMU in a pod that is not KubeVirt's */
		{"/kubepods/pod" UID "/x", "web1", UID, ""},
		{"/kubepods/pod" UID "/x", "my_own_vm", UID, ""},
		{"/kubepods/pod" UID "/x", "_web1", UID, ""},
		{"/kubepods/pod" UID "/x", "shop_", UID, ""},
		/* no pod */
		{"/machine.slice/machine-qemu.scope", "shop_web1", "", ""},
		{"/kubepods/podium/x", "shop_web1", "", ""},
		{"", "", "", ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct pod_labels pod;

		pod_labels_find(cases[i].cgroup, cases[i].domain, &pod);
		assert_string_equal(pod.uid, cases[i].uid);
		assert_string_equal(pod.namespace, cases[i].namespace);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(pods)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
