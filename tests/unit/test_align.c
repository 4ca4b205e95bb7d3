// SPDX-License-Identifier: GPL-2.0-or-later
/* Aligning guests: a failure is cached, the same for every caller; more entries and exits than are kept are noted. */
#include "clock/align_internal.h"
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

#define MANY_HOST                                                                                  \
	"# hostrace text 1\n"                                                                      \
	"1 kvm_entry pid=10 vcpu=0\n2 kvm_exit pid=10 vcpu=0 reason=1 isa=1\n"                     \
	"3 kvm_entry pid=10 vcpu=0\n4 kvm_exit pid=10 vcpu=0 reason=1 isa=1\n"                     \
	"5 kvm_entry pid=10 vcpu=0\n"
#define MANY_GUEST                                                                                 \
	"# hostrace text 1\n# meta {\"clock\":\"guest-tsc\"}\n"                                   \
	"# type {\"name\":\"guest:x\",\"size\":24,\"fields\":[]}\n"                               \
	"1.5 guest:x tid=9 cpu=0 vcpu=0\n3.5 guest:x tid=9 cpu=0 vcpu=0\n"

static void host_events(struct align *a, const char *path, uint64_t marks_max)
{
	static struct batch batch;
	struct reader *r;

	a->marks_max = marks_max;
	assert_int_equal(reader_open(path, NULL, &r), 0);
	while (reader_next(r, &batch) > 0)
		for (unsigned int i = 0; i < batch.nr; i++)
			assert_int_equal(align_host_event(a, &batch.ev[i]), 0);
	assert_int_equal(align_end(a, NULL, &r->info), 0);
	reader_close(r);
}

static bool says_not_kept(struct reader *r)
{
	static struct batch batch;
	bool found = false;
	size_t i;
	json_t *text;

	while (reader_next(r, &batch) > 0)
		;
	json_array_foreach (r->info.caveats, i, text)
		found |= !strncmp(json_string_value(text), "3 of the host's VM-entries", 26);
	return found;
}

static void too_many_marks_are_noted(void **state)
{
	char host[512], guest[512];

	(void)state;
	snprintf(host, sizeof(host), "%s", in_scratch("many.txt"));
	snprintf(guest, sizeof(guest), "%s", in_scratch("guest.txt"));
	file_write(host, MANY_HOST, strlen(MANY_HOST));
	file_write(guest, MANY_GUEST, strlen(MANY_GUEST));
	for (uint64_t max = 2; max <= 5; max += 3) {
		const struct align_guest *g;
		struct clock_proof proof;
		struct reader *r;
		struct align *a;

		assert_int_equal(align_begin(host, "0", NULL, &a), 0);
		host_events(a, host, max);
		assert_int_equal(align_guest(a, guest, &g), 0);
		align_verdict(g, &proof);
		assert_int_equal(proof.violations, 0);
		assert_int_equal(align_open(a, guest, NULL, &r), 0);
		assert_int_equal(says_not_kept(r), max == 2);
		reader_close(r);
		align_free(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_is_remembered),
		cmocka_unit_test(too_many_marks_are_noted),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
