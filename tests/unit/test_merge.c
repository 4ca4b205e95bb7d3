// SPDX-License-Identifier: GPL-2.0-or-later
#include "readers/readers.h"
#include "tracefile_util.h"

/* Events at first, first + step, ...: nr of them. */
static const char *make(const char *name, uint64_t first, uint64_t step, unsigned int nr)
{
	const char *path = in_scratch(name);
	struct trace_writer *w = writer_open(path, (struct trace_writer_options){0});
	struct rec_lost lost = {.hdr = {.time = first, .type = EV_lost, .size = sizeof(lost)},
				.count = nr};

	assert_int_equal(trace_writer_record(w, &lost.hdr), 0);
	for (unsigned int i = 0; i < nr; i++) {
		assert_int_equal(pio_write(w, first + i * step, 0), 0);
		if (i % 1000 ==
		    0) /* so that the file has chunks, and the reader uses its memory again */
			assert_int_equal(trace_writer_round(w, first + i * step + 1), 0);
	}
	assert_int_equal(trace_writer_close(w, NULL), 0);
	return path;
}

static struct reader *merged(const char *const *paths, unsigned int nr)
{
	struct reader *inputs[8], *r;

	for (unsigned int i = 0; i < nr; i++)
		assert_int_equal(reader_open(paths[i], NULL, &inputs[i]), 0);
	assert_int_equal(merge_open(inputs, nr, &r), 0);
	return r;
}

/* The data of an event is checked too: it must live as long as the batch. */
static void oldest_first(void **state)
{
	static struct batch b;
	const char *paths[] = {make("a", 1000, 7, 9000), make("b", 500, 3, 60000),
			       make("c", 60000, 1, 10)};
	struct reader *r = merged(paths, 3);
	unsigned int from[3] = {0}, nr = 0;
	uint64_t last = 0;

	(void)state;
	assert_int_equal(r->info.start_ns, 500);
	while (reader_next(r, &b) > 0) {
		assert_true(b.nr > 0);
		for (unsigned int i = 0; i < b.nr; i++, nr++) {
			const struct event *ev = &b.ev[i];

			assert_true(ev->time_ns >= last);
			last = ev->time_ns;
			from[ev->source]++;
			if (ev->type->id == EV_kvm_pio)
				assert_int_equal(event_u64(ev, event_field(ev->type, "port")),
						 ev->time_ns);
		}
	}
	assert_int_equal(from[0], 9001);
	assert_int_equal(from[1], 60001);
	assert_int_equal(from[2], 11);
	assert_int_equal(r->info.nr_events, nr);
	assert_int_equal(r->info.lost, 9000 + 60000 + 10);
	assert_int_equal(r->info.end_ns, 500 + 3 * 59999);
	reader_close(r);
}

static void of_equals_the_first_input(void **state)
{
	static struct batch b;
	const char *paths[] = {make("a", 10, 10, 3), make("b", 10, 10, 3)};
	struct reader *r = merged(paths, 2);
	unsigned int sources = 0, nr = 0;

	(void)state;
	while (reader_next(r, &b) > 0)
		for (unsigned int i = 0; i < b.nr; i++)
			if (b.ev[i].type->id == EV_kvm_pio)
				sources |= (unsigned int)b.ev[i].source << nr++;
	assert_int_equal(nr, 6);
	assert_int_equal(sources, 0x2a); /* 0 1 0 1 0 1 */
	reader_close(r);
}

static void one_is_itself(void **state)
{
	const char *path = make("a", 10, 10, 3);
	struct reader *r = merged(&path, 1);

	(void)state;
	assert_ptr_equal(r->ops, &tracefile_reader);
	reader_close(r);
}

static void caveats_of_all(void **state)
{
	static struct batch b;
	const char *paths[] = {make("a", 10, 10, 3), make("b", 10, 10, 3)};
	struct bytes whole = file_read(paths[1]);
	struct reader *r;

	(void)state;
	file_write(paths[1], whole.data, whole.len - 1);
	free(whole.data);
	r = merged(paths, 2);
	while (reader_next(r, &b) > 0)
		;
	assert_int_equal(json_array_size(r->info.caveats), 1);
	assert_int_equal(r->info.nr_events, 8);
	reader_close(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_first),
		cmocka_unit_test(of_equals_the_first_input),
		cmocka_unit_test(one_is_itself),
		cmocka_unit_test(caveats_of_all),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
