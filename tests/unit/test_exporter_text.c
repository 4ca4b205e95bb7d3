// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/text.h"

struct written {
	struct metric_text text;
	char *page;
	size_t len;
};

static void begin(struct written *w)
{
	*w = (struct written){0};
	w->text.out = open_memstream(&w->page, &w->len);
	assert_non_null(w->text.out);
}

static void end(struct written *w, const char *want)
{
	assert_int_equal(fclose(w->text.out), 0);
	assert_string_equal(w->page, want);
	free(w->page);
}

static void families(void **state)
{
	struct metric_labels l = {0};
	struct written w;

	(void)state;
	begin(&w);
	metric_label(&l, "vm", "web1");
	metric_label_number(&l, "vcpu", 3);
	metric_family(&w.text, "x_total", "counter", "What it is.");
	metric_number(&w.text, &l, UINT64_MAX);
	metric_number(&w.text, NULL, 0);
	metric_family(&w.text, "x_seconds_total", "counter", "Time.");
	metric_seconds(&w.text, &l, 1000000001);
	assert_int_equal(w.text.samples, 3);
	end(&w, "# HELP x_total What it is.\n# TYPE x_total counter\n"
		"x_total{vm=\"web1\",vcpu=\"3\"} 18446744073709551615\nx_total 0\n"
		"# HELP x_seconds_total Time.\n# TYPE x_seconds_total counter\n"
		"x_seconds_total{vm=\"web1\",vcpu=\"3\"} 1.000000001\n");
}

static void histograms(void **state)
{
	const uint64_t bounds[] = {1024, 2048}, counts[] = {1, 0, 4};
	const struct metric_exemplar exemplar = {"not-in-this-format.hrt", 1, 1};
	const struct metric_histogram h = {.bound_ns = bounds,
					   .count = counts,
					   .nr = 3,
					   .sum_ns = 5,
					   .exemplar = &exemplar};
	struct metric_labels l = {0};
	struct metric_text counting = {0};
	struct written w;

	(void)state;
	begin(&w);
	metric_label(&l, "reason", "HLT");
	w.text.family = counting.family = "x_seconds";
	metric_histogram(&w.text, &l, &h);
	metric_histogram(&counting, &l, &h);
	assert_int_equal(w.text.samples, 5);
	assert_int_equal(counting.samples, 5);
	end(&w, "x_seconds_bucket{reason=\"HLT\",le=\"0.000001024\"} 1\n"
		"x_seconds_bucket{reason=\"HLT\",le=\"0.000002048\"} 1\n"
		"x_seconds_bucket{reason=\"HLT\",le=\"+Inf\"} 5\n"
		"x_seconds_sum{reason=\"HLT\"} 0.000000005\n"
		"x_seconds_count{reason=\"HLT\"} 5\n");
}

static void openmetrics(void **state)
{
	const uint64_t bounds[] = {1024}, counts[] = {1, 4};
	const struct metric_exemplar in_first = {"a.hrt", 1024, 1700000000123},
				     in_last = {"b.hrt", 1025, 1};
	struct metric_histogram h = {.bound_ns = bounds,
				     .count = counts,
				     .nr = 2,
				     .sum_ns = 5,
				     .exemplar = &in_first};
	struct metric_labels l = {0};
	struct written w;

	(void)state;
	begin(&w);
	w.text.format = METRIC_OPENMETRICS;
	metric_label(&l, "vm", "web1");
	metric_family(&w.text, "x_total", "counter", "What it is.");
	metric_number(&w.text, &l, 1);
	metric_family(&w.text, "x_seconds_total", "counter", "Time.");
	metric_seconds(&w.text, NULL, 1000000001);
	metric_family(&w.text, "x_bytes", "gauge", "Memory.");
	metric_number(&w.text, NULL, 2);
	metric_family(&w.text, "seconds", "gauge", "No unit.");
	metric_family(&w.text, "y_seconds", "histogram", "Times.");
	metric_histogram(&w.text, &l, &h);
	h.exemplar = &in_last;
	metric_histogram(&w.text, &l, &h);
	assert_int_equal(metric_end(&w.text), 0);
	end(&w, "# TYPE x counter\n# HELP x What it is.\nx_total{vm=\"web1\"} 1\n"
		"# TYPE x_seconds counter\n# UNIT x_seconds seconds\n# HELP x_seconds Time.\n"
		"x_seconds_total 1.000000001\n"
		"# TYPE x_bytes gauge\n# UNIT x_bytes bytes\n# HELP x_bytes Memory.\nx_bytes 2\n"
		"# TYPE seconds gauge\n# HELP seconds No unit.\n"
		"# TYPE y_seconds histogram\n# UNIT y_seconds seconds\n"
		"# HELP y_seconds Times.\n"
		"y_seconds_bucket{vm=\"web1\",le=\"0.000001024\"} 1"
		" # {trace_file=\"a.hrt\"} 0.000001024 1700000000.123000000\n"
		"y_seconds_bucket{vm=\"web1\",le=\"+Inf\"} 5\n"
		"y_seconds_sum{vm=\"web1\"} 0.000000005\n"
		"y_seconds_count{vm=\"web1\"} 5\n"
		"y_seconds_bucket{vm=\"web1\",le=\"0.000001024\"} 1\n"
		"y_seconds_bucket{vm=\"web1\",le=\"+Inf\"} 5"
		" # {trace_file=\"b.hrt\"} 0.000001025 0.001000000\n"
		"y_seconds_sum{vm=\"web1\"} 0.000000005\n"
		"y_seconds_count{vm=\"web1\"} 5\n"
		"# EOF\n");
}

static void hostile_labels(void **state)
{
	static const struct {
		const char *from, *to;
	} cases[] = {
		{"\"} 1\nfake_total 7\n", "l=\"\\\"} 1?fake_total 7?\""},
		{"back\\slash", "l=\"back\\\\slash\""},
		{"\\", "l=\"\\\\\""},
		{"\xed\xa0\x80 \xff \033[2J", "l=\"??? ? ?[2J\""},
		{"\u00fcml\u00e4ut", "l=\"\u00fcml\u00e4ut\""},
		{"", "l=\"\""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct metric_labels l = {0};

		metric_label(&l, "l", cases[i].from);
		assert_string_equal(l.text, cases[i].to);
	}
}

/* A value is cut, in the middle of a character too; a label that does not fit is left out as a whole. */
static void long_labels(void **state)
{
	char value[2 * METRIC_VALUE_MAX + 1], quotes[METRIC_VALUE_MAX + 1];
	struct metric_labels l = {0};

	(void)state;
	memset(value, 'a', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	memcpy(value + METRIC_VALUE_MAX - 1, "\u00e9", 2);
	metric_label(&l, "l", value);
	assert_int_equal(l.len, METRIC_VALUE_MAX + 4);
	assert_string_equal(l.text + METRIC_VALUE_MAX, "aa?\"");
	memset(quotes, '"', sizeof(quotes) - 1);
	quotes[sizeof(quotes) - 1] = '\0';
	for (int i = 0; i < METRIC_LABELS_MAX; i++) {
		size_t before = l.len;

		metric_label(&l, "l", quotes);
		assert_int_equal(strlen(l.text), l.len);
		assert_true(l.len == before || l.len == before + 2 * METRIC_VALUE_MAX + 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families),
		cmocka_unit_test(histograms),
		cmocka_unit_test(openmetrics),
		cmocka_unit_test(hostile_labels),
		cmocka_unit_test(long_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
