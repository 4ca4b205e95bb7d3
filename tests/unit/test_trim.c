// SPDX-License-Identifier: GPL-2.0-or-later
#include "event/trim_reason.h"
#include "readers/readers.h"
#include "tracefile_util.h"

static const char trace[] = "# hostrace text 1\n"
			    "1 thread pid=10 tid=11 comm=one\n"
			    "1 clock_pair tsc=5\n"
			    "2 kvm_exit pid=10 tid=11 vcpu=0\n"
			    "3 kvm_entry pid=10 tid=11 vcpu=0\n"
			    "4 kvm_exit pid=10 tid=12 vcpu=1\n"
			    "5 virtqueue_pop pid=10 tid=13\n"
			    "6 kvm_exit pid=20 tid=21 vcpu=0\n"
			    "7 lost count=3\n";

/* How many events of their own, and how many names, a trim lets pass. */
static void passes(struct trim trim, unsigned int want_own, unsigned int want_names)
{
	static struct batch b;
	const char *path = in_scratch("t.txt");
	unsigned int own = 0, names = 0;
	struct reader *inner, *r;

	file_write(path, trace, strlen(trace));
	assert_int_equal(reader_open(path, NULL, &inner), 0);
	assert_int_equal(trim_open(inner, &trim, &r), 0);
	assert_int_equal(r->info.start_ns, 1000000000);
	while (reader_next(r, &b) > 0) {
		assert_true(b.nr > 0);
		for (unsigned int i = 0; i < b.nr; i++) {
			own += trim_passes(r, &b.ev[i]) && !trim_is_naming(b.ev[i].type);
			names += trim_is_naming(b.ev[i].type);
		}
	}
	assert_int_equal(own, want_own);
	assert_int_equal(names, want_names);
	assert_int_equal(r->info.nr_events, 8); /* of the input, before trimming */
	assert_int_equal(r->info.lost, 3);
	reader_close(r);
}

static const uint32_t ids[] = {10, 11, 12};
static const uint16_t vcpus[] = {0, 7};

static void by_everything(void **state)
{
	(void)state;
	passes((struct trim){0}, 5, 3);
	passes((struct trim){.since_ns = 3000000000}, 4, 3);
	passes((struct trim){.since_ns = 3000000000, .until_ns = 5000000000}, 2,
	       3); /* up to, not including */
	passes((struct trim){.pids = ids, .nr_pids = 1}, 4, 3);
	passes((struct trim){.tids = ids + 1, .nr_tids = 2}, 3, 3);
	passes((struct trim){.vcpus = vcpus, .nr_vcpus = 2}, 3, 3);
	passes((struct trim){.events = "kvm_exit"}, 3, 3);
	passes((struct trim){.events = "kvm_*,virtqueue_p?p"}, 5, 3);
	passes((struct trim){.events = "nothing"}, 0, 3);
	passes((struct trim){.events = "kvm_exit",
			     .vcpus = vcpus,
			     .nr_vcpus = 1,
			     .pids = ids,
			     .nr_pids = 1},
	       1, 3);
}

/* An exit of a reason, with what its thread did until the entry; another thread's is not taken for
 * it. */
static void by_reason(void **state)
{
	static const char exits[] =
		"# hostrace text 1\n"
		"1 thread pid=10 tid=11 comm=one\n"
		"2 kvm_exit tid=11 vcpu=0 reason=30 isa=1\n" /* IO_INSTRUCTION */
		"3 kvm_exit tid=12 vcpu=1 reason=12 isa=1\n" /* HLT */
		"4 kvm_pio tid=11 vcpu=0 port=1\n"
		"5 kvm_pio tid=12 vcpu=1 port=2\n"
		"6 kvm_userspace_exit tid=11 vcpu=0 reason=2\n" /* io */
		"7 kvm_run tid=11 vcpu=0\n"
		"8 kvm_entry tid=11 vcpu=0\n"
		"9 kvm_entry tid=12 vcpu=1\n"
		"10 kvm_pio tid=11 vcpu=0 port=3\n"
		"11 kvm_exit tid=12 vcpu=1 reason=1000 isa=1\n"
		"12 kvm_exit tid=12 vcpu=1 reason=12 isa=1\n"
		"13 kvm_entry tid=12 vcpu=1\n"
		"14 lost count=3\n";
	static const struct {
		const char *reasons, *events;
		unsigned int own;
	} want[] = {
		{"IO_*", NULL, 5},	  {"io*", NULL, 5},	{"hlt", NULL, 5},
		{"hlt,io*", NULL, 10},	  {"nothing", NULL, 0}, {"0x3e8", NULL, 1},
		{"kvm_exit_io", NULL, 5}, /* a name of the same cause */
		{"io_*", "kvm_pio", 1},
	};
	static struct batch b;

	(void)state;
	for (size_t w = 0; w < sizeof(want) / sizeof(want[0]); w++) {
		struct trim trim = {.reasons = want[w].reasons ? trim_reason_new(want[w].reasons)
							       : NULL,
				    .events = want[w].events};
		const char *path = in_scratch("r.txt");
		unsigned int own = 0, names = 0;
		struct reader *inner, *r;

		file_write(path, exits, strlen(exits));
		assert_int_equal(reader_open(path, NULL, &inner), 0);
		assert_int_equal(trim_open(inner, &trim, &r), 0);
		while (reader_next(r, &b) > 0)
			for (unsigned int i = 0; i < b.nr; i++) {
				own += trim_passes(r, &b.ev[i]);
				names += trim_is_naming(b.ev[i].type);
			}
		assert_int_equal(own, want[w].own);
		assert_int_equal(names, 2);
		reader_close(r);
	}
}

static void globs(void **state)
{
	(void)state;
	assert_true(trim_name_matches("a,b*", "bcd"));
	assert_true(trim_name_matches(",,x", "x"));
	assert_true(trim_name_matches("osv:*", "osv:vfs_open"));
	assert_false(trim_name_matches("a,b", "ab"));
	assert_false(trim_name_matches("", "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_everything),
		cmocka_unit_test(by_reason),
		cmocka_unit_test(globs),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
