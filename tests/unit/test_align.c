// SPDX-License-Identifier: GPL-2.0-or-later
/* A guest that cannot be aligned to the host: the result is cached, and the same for every caller. */
#include "clock/align.h"
#include "tracefile_util.h"

#define HOST                                                                                       \
	"# hostrace text 1\n1 kvm_entry pid=10 vcpu=0\n2 kvm_exit pid=10 vcpu=0 reason=1 isa=1\n"

static void a_failure_is_remembered(void **state)
{
	const char *host = in_scratch("host.txt");
	const struct align_guest *g;
	struct align *a = NULL;
	char first[512];
	int err;

	(void)state;
	file_write(host, HOST, strlen(HOST));
	assert_int_equal(align_new(&host, 1, NULL, NULL, &a), 0);
	err = align_guest(a, "/nowhere/guest.dat", &g);
	assert_int_equal(err, -ENOENT);
	snprintf(first, sizeof(first), "%s", error_text());
	(fail)(-EIO, "something else"); /* not the macro of cmocka */
	assert_int_equal(align_guest(a, "/nowhere/guest.dat", &g), err);
	assert_string_equal(error_text(), first);
	align_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_remembered),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
