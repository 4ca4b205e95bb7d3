// SPDX-License-Identifier: GPL-2.0-or-later
/* Time and number of slices by kind are the same whether slices are kept or summed up; memory does not grow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "analyzers/timeline/bands.h"
#include "random_util.h"

enum { TRACKS = 23 };

struct sums {
	uint64_t ns[TRACKS][SLICE_KINDS], count[TRACKS][SLICE_KINDS], longest[SLICE_KINDS];
};

static void slice_add(struct bands *b, struct sums *sums, uint32_t track, enum slice_kind kind,
		      uint64_t start, uint64_t ns)
{
	char name[32];
	struct timeline_slice s = {.track = track, .kind = kind, .start_ns = start,
				   .end_ns = start + ns, .name = name};

	snprintf(name, sizeof(name), "%llu", (unsigned long long)ns);
	assert_int_equal(bands_add(b, &s), 0);
	sums->ns[track][kind] += ns;
	sums->count[track][kind]++;
	if (ns > sums->longest[kind])
		sums->longest[kind] = ns;
}

static void sums_compare(const struct bands *b, const struct sums *want)
{
	struct sums is = {{{0}}};

	for (uint32_t i = 0; i < b->nr_tracks; i++) {
		const struct band_track *t = &b->track[i];

		for (uint32_t k = 0; k < t->nr; k++) {
			const struct band_item *item = &t->item[k];

			is.ns[t->track][item->kind] += item->ns;
			is.count[t->track][item->kind] += item->count;
			if (item->longest_ns > is.longest[item->kind])
				is.longest[item->kind] = item->longest_ns;
			assert_true(strtoull(item->name, NULL, 10) == item->longest_ns);
			assert_true(!k || item->start_ns >= item[-1].start_ns);
			if (item->is_band) {
				assert_int_equal(item->start_ns % b->resolution_ns, 0);
				assert_true(item->ns <= b->resolution_ns);
			} else {
				assert_true(item->ns >= b->resolution_ns);
			}
		}
	}
	assert_memory_equal(&is, want, sizeof(is));
}

/* Slices that follow each other on each track, most of them short; points come late, as kicks do. */
static void fill(uint64_t slices)
{
	struct bands *b = bands_new();
	struct sums sums = {{{0}}};
	struct random r = {.state = slices};
	uint64_t clock[TRACKS];

	assert_non_null(b);
	for (unsigned int i = 0; i < TRACKS; i++)
		clock[i] = 1000000007;
	for (uint64_t i = 0; i < slices; i++) {
		uint32_t track = random_next(&r) % TRACKS;
		uint64_t ns = random_next(&r) % 3000 << random_next(&r) % 12;

		if (track == 0)
			slice_add(b, &sums, track, SLICE_INSTANT,
				  clock[1] - random_next(&r) % 5000, 0);
		else
			slice_add(b, &sums, track, track % 2 ? SLICE_GUEST : SLICE_KERNEL + i % 2,
				  clock[track], ns);
		clock[track] += ns + random_next(&r) % 2 * 700;
		assert_true(b->nr_items < BANDS_ITEMS_MAX);
	}
	bands_end(b);
	assert_int_equal(b->nr_slices, slices);
	assert_true(slices < BANDS_ITEMS_MAX ? !b->resolution_ns : b->resolution_ns > 0);
	sums_compare(b, &sums);
	bands_free(b);
}

static void test_few(void **state)
{
	(void)state;
	fill(1000);
}

static void test_many(void **state)
{
	(void)state;
	fill(1000000);
}

/* Exits of two names, one band of each per column; a coarser one of the same items has the same sums. */
static void test_names_and_coarser(void **state)
{
	struct bands *b = bands_new(), *coarse = bands_new();
	uint64_t count[2] = {0}, ns = 0, sum = 0, nr = 0;

	(void)state;
	assert_non_null(b);
	assert_non_null(coarse);
	b->items_max = 600;
	b->exit_names = true;
	for (uint64_t i = 0; i < 23000; i++) {
		struct timeline_slice s = {.kind = SLICE_KERNEL, .start_ns = 17 + i * 1000,
					   .end_ns = 17 + i * 1000 + 100 + i % 7,
					   .name = i % 3 ? "io" : "hlt"};

		ns += s.end_ns - s.start_ns;
		assert_int_equal(bands_add(b, &s), 0);
		assert_true(b->nr_items < 600);
	}
	bands_end(b);
	coarse->resolution_ns = 4 * b->resolution_ns;
	for (uint32_t i = 0; i < b->track[0].nr; i++) {
		const struct band_item *item = &b->track[0].item[i];

		count[!strcmp(item->name, "io")] += item->count;
		assert_int_equal(bands_add_item(coarse, 0, item), 0);
	}
	assert_int_equal(count[0], 7667);
	assert_int_equal(count[1], 15333);
	for (uint32_t i = 0; i < coarse->track[0].nr; i++) {
		assert_int_equal(coarse->track[0].item[i].start_ns % coarse->resolution_ns, 0);
		sum += coarse->track[0].item[i].ns;
		nr += coarse->track[0].item[i].count;
	}
	assert_int_equal(sum, ns);
	assert_int_equal(nr, 23000);
	bands_free(coarse);
	bands_free(b);
}

/* Each request is 1 ms long, each hundredth 50 ms: these are kept. */
static void test_flows(void **state)
{
	struct bands *b = bands_new();
	const struct band_flow *f;
	unsigned int nr_long = 0;

	(void)state;
	assert_non_null(b);
	for (uint64_t i = 0; i < 20000; i++) {
		uint64_t ns = i % 100 ? 1000000 : 50000000, start = 1000 + i * 1000000;
		struct timeline_slice kick = {.kind = SLICE_INSTANT, .start_ns = start,
					      .end_ns = start, .name = "kick", .nr_flows = 1,
					      .flow = (uint64_t[]){i + 1}},
				      request = {.track = 1, .kind = SLICE_REQUEST,
						 .start_ns = start + 10, .end_ns = start + ns,
						 .name = "head", .nr_flows = 1,
						 .flow = (uint64_t[]){i + 1}};

		assert_int_equal(bands_add(b, &request), 0);
		assert_int_equal(bands_add(b, &kick), 0); /* late */
	}
	bands_end(b);
	for (uint32_t at = 0; (f = hash_next(&b->flows, &at));) {
		assert_int_equal(f->nr, 2);
		assert_true(f->at[0].start_ns < f->at[1].start_ns);
		nr_long += (f->id - 1) % 100 == 0;
	}
	assert_int_equal(nr_long, 200);
	assert_int_equal(b->flows.nr + b->flows_dropped, 20000);
	bands_free(b);
}

static void test_tracks(void **state)
{
	struct bands *b = bands_new();

	(void)state;
	assert_non_null(b);
	for (uint32_t i = 0; i < BANDS_TRACKS_MAX + 17; i++) {
		struct timeline_slice s = {
			.track = i, .kind = SLICE_TASK, .end_ns = 5, .name = "x"};

		assert_int_equal(bands_add(b, &s), 0);
	}
	assert_int_equal(b->nr_tracks, BANDS_TRACKS_MAX);
	assert_int_equal(b->not_kept, 17);
	bands_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_names_and_coarser),
		cmocka_unit_test(test_flows),
		cmocka_unit_test(test_tracks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
