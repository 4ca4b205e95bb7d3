/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A page with all kinds of metrics, for the tests of its formats. */
#ifndef HOSTRACE_TEST_METRIC_PAGE_H
#define HOSTRACE_TEST_METRIC_PAGE_H

#include "exporter/text.h"
#include "exporter/vm.h"

/* Of its histogram. */
static const uint64_t metric_page_native[EXPORT_NATIVES] = {
	[0] = 1, [1] = 2, [2] = 298, [EXPORT_NATIVES - 1] = 4};

static void metric_page_write(struct metric_text *t)
{
	const uint64_t bounds[] = {1024, 2048, 1 << 30}, counts[] = {1, 0, 300, 4};
	const struct metric_exemplar exemplar = {"web1.hrt", 2049, 1700000000123};
	const struct metric_histogram h = {.exemplar = &exemplar,
					   .bound_ns = bounds,
					   .count = counts,
					   .nr = 4,
					   .native = metric_page_native,
					   .sum_ns = 1234567890123},
				      none = {.bound_ns = bounds,
					      .count = (const uint64_t[4]){0},
					      .nr = 4,
					      .native = (const uint64_t[EXPORT_NATIVES]){0}};
	struct metric_labels l = {0}, all = {0};

	metric_label(&l, "vm", "web\"} 1\\");
	metric_label(&l, "empty", "");
	for (unsigned int i = 0; i < 2 * METRIC_PAIRS_MAX; i++)
		metric_label_number(&all, "many", i);
	metric_family(t, "x_total", "counter", "What it is.");
	metric_number(t, &l, 1);
	metric_number(t, NULL, (UINT64_C(1) << 53) - 1);
	metric_family(t, "x_seconds_total", "counter", "Time.");
	metric_seconds(t, &all, 86400123456789);
	metric_family(t, "y", "gauge", "A gauge.");
	metric_number(t, &l, 0);
	metric_family(t, "z_seconds", "histogram", "A histogram.");
	metric_histogram(t, &l, &h);
	metric_histogram(t, &all, &none);
	assert_int_equal(metric_end(t), 0);
}

#endif
