// SPDX-License-Identifier: GPL-2.0-or-later
/* Rows of counters in bounded memory, and texts of /proc that fill them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "vm/host_load.h"
#include "vm/series.h"
#include "vm/vm_places.h"

#include <cmocka.h>

static json_int_t at(const json_t *list, size_t i)
{
	return json_integer_value(json_array_get(list, i));
}

/* Twice as many as there is memory for: half of them are kept, and what was counted until each is right. */
static void thinned(void **state)
{
	struct series s;
	json_t *times, *counts;
	size_t nr;

	(void)state;
	assert_int_equal(0, series_init(&s, 2, 10));
	assert_int_equal(SERIES_ROWS_MAX, s.max);
	for (uint64_t now = 1; now < 12000; now++) {
		uint64_t *row = series_next(&s, now);

		if (row) {
			row[0] = 100 + now;
			row[1] = 7;
		}
	}
	assert_in_range(s.nr, SERIES_ROWS_MAX / 2, SERIES_ROWS_MAX);
	assert_int_equal(20, s.interval_ns);
	times = series_times(&s);
	counts = series_column(&s, 0, 100);
	nr = json_array_size(times);
	assert_int_equal(nr, json_array_size(counts));
	for (size_t i = 0; i < nr; i++)
		assert_int_equal(at(times, i), at(counts, i));
	assert_int_equal(1, at(times, 0));
	assert_in_range(at(times, nr - 1), 12000 - 41, 12000);
	assert_null(series_column(&s, 1, 7));
	json_decref(times);
	json_decref(counts);
	series_deinit(&s);
}

static void too_wide(void **state)
{
	struct series s;

	(void)state;
	assert_int_equal(0, series_init(&s, SERIES_VALUES_MAX, 10));
	assert_null(series_next(&s, 5));
	series_deinit(&s);
	assert_int_equal(0, series_init(&s, SERIES_VALUES_MAX / 5, 10));
	for (uint64_t now = 10; now < 1000; now += 10)
		series_next(&s, now);
	assert_in_range(s.nr, 2, 5);
	series_deinit(&s);
}

static void pressures(void **state)
{
	(void)state;
	assert_int_equal(123000, pressure_ns("some avg10=0.00 avg60=0.00 avg300=0.00 total=123\n"
					     "full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"));
	assert_int_equal(0, pressure_ns("full avg10=0.00 total=7\n"));
	assert_int_equal(0, pressure_ns("some"));
	assert_int_equal(0, pressure_ns(""));
}

/* This process. */
static void places(void **state)
{
	const struct vm vm = {.pid = getpid()};
	struct vm_places p;
	json_t *list, *thread;

	(void)state;
	vm_places_open(&p, &vm, 1, true);
	list = vm_places_json(&p);
	assert_int_equal(1, json_array_size(list));
	assert_true(json_is_integer(json_object_get(json_array_get(list, 0), "swapped")));
	thread = json_array_get(json_object_get(json_array_get(list, 0), "threads"), 0);
	assert_int_equal(getpid(), json_integer_value(json_object_get(thread, "tid")));
	assert_true(strspn(json_string_value(json_object_get(thread, "cpus")), "0123456789-,") > 0);
	assert_non_null(json_object_get(thread, "nodes"));
	assert_non_null(json_object_get(thread, "policy"));
	assert_int_equal(nice(0), json_integer_value(json_object_get(thread, "nice")));
	json_decref(list);
	vm_places_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(thinned),
		cmocka_unit_test(too_wide),
		cmocka_unit_test(pressures),
		cmocka_unit_test(places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
