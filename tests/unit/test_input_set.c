// SPDX-License-Identifier: GPL-2.0-or-later
/* Input sets are independent of each other: two of them, over other files and times, read in turn. */
#include "clock/align.h"
#include "input/input_set.h"
#include "tracefile_util.h"

enum { HOST_EXITS = 3000 };

/* An exit each millisecond from `start_ms` on. */
static const char *exits_file(const char *name, unsigned int start_ms)
{
	const char *path = in_scratch(name);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "# hostrace text 1\n");
	for (unsigned int i = 0; i < HOST_EXITS; i++)
		fprintf(f, "%u.%03u000000 kvm_exit pid=10 tid=11 vcpu=%u\n", (start_ms + i) / 1000,
			(start_ms + i) % 1000, i % 2);
	fclose(f);
	return strdup(path);
}

/* The next batch's events; checks that their times are in [since, until). */
static unsigned int read_some(struct input_set *set, struct batch *b, uint64_t since_ns,
			      uint64_t until_ns)
{
	int more = reader_next(set->reader, b);

	assert_true(more >= 0);
	for (unsigned int i = 0; more && i < b->nr; i++) {
		assert_in_range(b->ev[i].time_ns, since_ns, until_ns - 1);
		assert_string_equal(input_set_name(set, b->ev[i].source), "host");
		assert_true(input_set_selects(set, &b->ev[i]));
	}
	return more ? b->nr : 0;
}

static void two_windows_in_turn(void **state)
{
	const char *files[] = {exits_file("a.txt", 1000), exits_file("b.txt", 500000)};
	struct input_options opt[] = {
		{.files = {.item = {files[0]}, .nr = 1}, .since = {.ns = 500000000}},
		{.files = {.item = {files[1]}, .nr = 1},
		 .until = {.ns = 2000000000},
		 .vcpus = {.item = {1}, .nr = 1}},
	};
	struct batch *b = malloc(2 * sizeof(*b));
	unsigned int nr[2] = {0}, n[2];
	struct input_set *set[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(input_set_new(&opt[i], &set[i]), 0);
		assert_int_equal(input_set_open(set[i], NULL, NULL), 0);
	}
	assert_int_equal(set[0]->until_ns, UINT64_MAX);
	assert_int_equal(set[1]->until_ns, 502000000000);
	do {
		n[0] = read_some(set[0], &b[0], 1500000000, 4000000000);
		n[1] = read_some(set[1], &b[1], 500000000000, 502000000000);
		nr[0] += n[0];
		nr[1] += n[1];
	} while (n[0] || n[1]);
	assert_int_equal(nr[0], 2500);
	assert_int_equal(nr[1], 1000);
	assert_int_equal(input_set_end_ns(set[0]), 3999000000);
	assert_int_equal(input_set_end_ns(set[1]), 502000000000);
	for (int i = 0; i < 2; i++) {
		assert_string_equal(set[i]->input[0].reader->info.file, files[i]);
		input_set_close(set[i]);
		free((void *)files[i]);
	}
	free(b);
}

static void can_be_read_again(void **state)
{
	const char *file = exits_file("again.txt", 1000);
	struct input_options opt = {.files = {.item = {file}, .nr = 1},
				    .until = {.ns = 1000000000}};
	_cleanup_input_set_ struct input_set *set = NULL;
	struct batch *b = malloc(sizeof(*b));

	(void)state;
	assert_int_equal(input_set_new(&opt, &set), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(input_set_open(set, NULL, NULL), 0);
		assert_int_equal(read_some(set, b, 1000000000, 2000000000), 1000);
		assert_int_equal(read_some(set, b, 0, 1), 0);
	}
	assert_int_equal(input_set_open_all_times(set, NULL, NULL), 0);
	assert_int_equal(read_some(set, b, 1000000000, 4000000000), BATCH_MAX);
	free(b);
	free((void *)file);
}

/* The host's events of a text case, with the head that makes them a trace. */
static const char *host_file(void)
{
	struct bytes text = file_read("tests/cases/guest-beside/host.txt");
	const char *path = in_scratch("host.txt");
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "# hostrace text 1\n");
	fwrite(text.data, 1, text.len, f);
	fclose(f);
	free(text.data);
	return strdup(path);
}

/* A set and its copy align a guest once, and close in either order. */
static void copies_share_clocks(void **state)
{
	const char *file = host_file();
	struct input_options opt = {
		.files = {.item = {file}, .nr = 1},
		.guests = {.item = {"tests/cases/guest-beside/vm.guest"}, .nr = 1},
	};
	const struct align_guest *guest[2];
	struct input_set *set, *copy;
	struct align *align[2];

	(void)state;
	assert_int_equal(input_set_new(&opt, &set), 0);
	assert_int_equal(input_set_copy(set, &copy), 0);
	assert_int_equal(input_set_open(set, NULL, NULL), 0);
	assert_int_equal(input_set_open(copy, NULL, NULL), 0);
	assert_int_equal(input_set_align(set, 0, &align[0], &guest[0]), 0);
	assert_int_equal(input_set_align(copy, 0, &align[1], &guest[1]), 0);
	assert_ptr_equal(align[0], align[1]);
	assert_ptr_equal(guest[0], guest[1]);
	assert_string_equal(input_set_name(copy, 1), "guest");
	assert_true(input_set_is_guest(copy, 1));
	assert_false(input_set_is_guest(copy, 2));
	assert_string_equal(input_set_name(copy, 2), "?");
	input_set_close(set);
	assert_int_equal(input_set_align(copy, 0, &align[1], &guest[1]), 0);
	assert_true(guest[1]->error_ns >= 0);
	input_set_close(copy);
	free((void *)file);
}

/* What fails leaves a set that can be closed, and the other one as it was. */
static void failures(void **state)
{
	const char *file = exits_file("fine.txt", 1000);
	struct input_options fine = {.files = {.item = {file}, .nr = 1}}, wrong = fine;
	struct input_set *sets[2];
	struct batch *b = malloc(sizeof(*b));

	(void)state;
	wrong.files.item[wrong.files.nr++] = "/nonexistent/trace";
	assert_int_equal(input_set_new(&fine, &sets[0]), 0);
	assert_int_equal(input_set_new(&wrong, &sets[1]), 0);
	assert_int_equal(input_set_open(sets[0], NULL, NULL), 0);
	assert_int_equal(input_set_open(sets[1], NULL, NULL), -ENOENT);
	assert_null(sets[1]->reader);
	wrong.files.nr = 1;
	wrong.since.ns = 2000000000;
	wrong.until.ns = 1000000000;
	input_set_close(sets[1]);
	assert_int_equal(input_set_new(&wrong, &sets[1]), 0);
	assert_int_equal(input_set_open(sets[1], NULL, NULL), -EINVAL);
	assert_true(error_is_usage());
	wrong.until.ns = 0;
	wrong.vms = (struct text_list){.item = {"no-such-vm"}, .nr = 1};
	assert_int_equal(input_set_open(sets[1], NULL, NULL), -ESRCH);
	assert_int_equal(read_some(sets[0], b, 1000000000, 4000000000), BATCH_MAX);
	input_set_close(sets[1]);
	input_set_close(sets[0]);
	free(b);
	free((void *)file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(two_windows_in_turn),
		cmocka_unit_test(can_be_read_again),
		cmocka_unit_test(copies_share_clocks),
		cmocka_unit_test(failures),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
