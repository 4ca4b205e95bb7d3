// SPDX-License-Identifier: GPL-2.0-or-later
/* What is written as protobuf, read by libprotobuf-c and written as text, is what is written as OpenMetrics. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/vm.h"
#include "metric_page.h"
#include "prometheus.pb-c.h"
#include "views/stat_rows.h"

static size_t length_read(const uint8_t **at, const uint8_t *end)
{
	size_t len = 0;

	for (unsigned int shift = 0; *at < end; shift += 7) {
		len |= (size_t)(**at & 0x7f) << shift;
		if (!(*(*at)++ & 0x80))
			return len;
	}
	fail_msg("a length without an end");
	return 0;
}

/* ---- a page ---- */

static void labels_of(const Prometheus__Metric *m, struct metric_labels *ret)
{
	*ret = (struct metric_labels){0};
	for (size_t i = 0; i < m->n_label; i++)
		metric_label(ret, m->label[i]->name, m->label[i]->value);
}

/* Numbers are exact: those of the tests are below 2^53, in nanoseconds too. */
static uint64_t ns_of(double seconds)
{
	return (uint64_t)llround(seconds * 1e9);
}

static void native_check(const Prometheus__Histogram *h)
{
	int64_t count = 0;
	uint64_t sum = h->zero_count;
	size_t nr = 0;

	for (size_t i = 0; i < h->n_positive_delta; i++) {
		count += h->positive_delta[i];
		assert_true(count > 0);
		sum += (uint64_t)count;
	}
	for (size_t i = 0; i < h->n_positive_span; i++)
		nr += h->positive_span[i]->length;
	assert_int_equal(nr, h->n_positive_delta);
	assert_int_equal(sum, h->sample_count);
	assert_int_equal(h->schema, EXPORT_NATIVE_SCHEMA);
	assert_true(h->zero_threshold > 0 && h->zero_threshold < 1e-9);
}

/* Of which there is at most one. */
static void exemplar_read(const Prometheus__Histogram *h, struct metric_exemplar *ret)
{
	for (size_t i = 0; i < h->n_bucket; i++) {
		const Prometheus__Exemplar *e = h->bucket[i]->exemplar;

		if (!e)
			continue;
		assert_null(ret->file);
		assert_int_equal(e->n_label, 1);
		assert_string_equal(e->label[0]->name, "trace_file");
		assert_true(e->value <= h->bucket[i]->upper_bound);
		assert_true(!i || e->value > h->bucket[i - 1]->upper_bound);
		*ret = (struct metric_exemplar){.file = e->label[0]->value,
						.value_ns = ns_of(e->value),
						.unix_ms = (uint64_t)e->timestamp->seconds * 1000 +
							   (uint64_t)e->timestamp->nanos / 1000000};
	}
}

static void histogram_rewrite(struct metric_text *to, const struct metric_labels *l,
			      const Prometheus__Histogram *h)
{
	uint64_t bounds[EXPORT_BUCKETS], counts[EXPORT_BUCKETS], before = 0;
	struct metric_exemplar exemplar = {0};

	assert_in_range(h->n_bucket, 1, EXPORT_BUCKETS);
	for (size_t i = 0; i < h->n_bucket; i++) {
		bool last = i + 1 == h->n_bucket;

		assert_int_equal(!!isinf(h->bucket[i]->upper_bound), last);
		bounds[i] = last ? 0 : ns_of(h->bucket[i]->upper_bound);
		counts[i] = h->bucket[i]->cumulative_count - before;
		before = h->bucket[i]->cumulative_count;
	}
	assert_int_equal(before, h->sample_count);
	native_check(h);
	exemplar_read(h, &exemplar);
	metric_histogram(to, l,
			 &(struct metric_histogram){.bound_ns = bounds,
						    .count = counts,
						    .nr = (unsigned int)h->n_bucket,
						    .exemplar = exemplar.file ? &exemplar : NULL,
						    .sum_ns = ns_of(h->sample_sum)});
}

static void family_rewrite(struct metric_text *to, const Prometheus__MetricFamily *f)
{
	static const char *const types[] = {"counter", "gauge", [4] = "histogram"};

	metric_family(to, f->name, types[f->type], f->help);
	for (size_t i = 0; i < f->n_metric; i++) {
		const Prometheus__Metric *m = f->metric[i];
		const Prometheus__Number *number = m->counter ? m->counter : m->gauge;
		struct metric_labels l;

		labels_of(m, &l);
		assert_int_equal(!!m->counter, f->type == PROMETHEUS__METRIC_TYPE__COUNTER);
		assert_int_equal(!!m->gauge, f->type == PROMETHEUS__METRIC_TYPE__GAUGE);
		assert_int_equal(!!m->histogram, f->type == PROMETHEUS__METRIC_TYPE__HISTOGRAM);
		if (m->histogram)
			histogram_rewrite(to, &l, m->histogram);
		else if (strstr(f->name, "seconds"))
			metric_seconds(to, &l, ns_of(number->value));
		else
			metric_number(to, &l, (uint64_t)number->value);
	}
}

static void page_rewrite(FILE *out, const uint8_t *page, size_t len)
{
	struct metric_text to = {.out = out, .format = METRIC_OPENMETRICS};
	const uint8_t *at = page, *end = page + len;

	while (at < end) {
		size_t size = length_read(&at, end);
		Prometheus__MetricFamily *f;

		assert_true(size <= (size_t)(end - at));
		f = prometheus__metric_family__unpack(NULL, size, at);
		assert_non_null(f);
		family_rewrite(&to, f);
		prometheus__metric_family__free_unpacked(f, NULL);
		at += size;
	}
	assert_int_equal(metric_end(&to), 0);
}

static void page_is_that_of_text(void **state)
{
	char *text = NULL, *proto = NULL, *again = NULL;
	size_t text_len, proto_len, again_len;
	FILE *f;

	(void)state;
	f = open_memstream(&text, &text_len);
	metric_page_write(&(struct metric_text){.out = f, .format = METRIC_OPENMETRICS});
	fclose(f);
	f = open_memstream(&proto, &proto_len);
	metric_page_write(&(struct metric_text){.out = f, .format = METRIC_PROTOBUF});
	fclose(f);
	f = open_memstream(&again, &again_len);
	page_rewrite(f, (uint8_t *)proto, proto_len);
	fclose(f);
	assert_true(text_len > 500);
	assert_string_equal(again, text);
	free(text);
	free(proto);
	free(again);
}

/* A family without samples is left out, also the last one. */
static void empty_families(void **state)
{
	char *page = NULL;
	size_t len;
	FILE *f = open_memstream(&page, &len);
	struct metric_text t = {.out = f, .format = METRIC_PROTOBUF};
	const uint8_t *at;

	(void)state;
	metric_family(&t, "a", "gauge", "Empty.");
	metric_family(&t, "b", "gauge", "One.");
	metric_number(&t, NULL, 7);
	metric_family(&t, "c", "gauge", "Empty.");
	assert_int_equal(metric_end(&t), 0);
	fclose(f);
	at = (uint8_t *)page;
	assert_int_equal(length_read(&at, at + len) + 1, len);
	free(page);
}

/* ---- native buckets ---- */

/* In seconds. */
static long double bound_of(unsigned int number)
{
	return powl(2, (long double)((int)number - 1 + EXPORT_NATIVE_FIRST) / 8);
}

static void native_place(uint64_t ns, bool is_last)
{
	unsigned int number = export_native_of(ns);

	assert_in_range(number, 1, EXPORT_NATIVES - 1);
	assert_true(bound_of(number - 1) < ns / 1e9L);
	if (!is_last)
		assert_true(ns / 1e9L <= bound_of(number));
}

/* A value is in the bucket by its bounds, of which the upper one belongs to it. */
static void native_buckets(void **state)
{
	uint64_t random = 1;

	(void)state;
	assert_int_equal(export_native_of(0), 0);
	assert_int_equal(export_native_of(1), 1);
	assert_int_equal(export_native_of(UINT64_MAX), EXPORT_NATIVES - 1);
	/* 2^-9 s, 1 s and 2^10 s are whole nanoseconds */
	assert_int_equal(export_native_of(1953125), 1 - EXPORT_NATIVE_FIRST - 72);
	assert_int_equal(export_native_of(1953126), 2 - EXPORT_NATIVE_FIRST - 72);
	assert_int_equal(export_native_of(1000000000), 1 - EXPORT_NATIVE_FIRST);
	assert_int_equal(export_native_of(1000000001), 2 - EXPORT_NATIVE_FIRST);
	assert_int_equal(export_native_of(UINT64_C(1024000000000)), 81 - EXPORT_NATIVE_FIRST);
	for (unsigned int i = 0; i < STAT_BITS_MAX; i++)
		for (int d = -1; d <= 1; d++)
			if ((UINT64_C(1) << i) + (uint64_t)d)
				native_place((UINT64_C(1) << i) + (uint64_t)d, false);
	for (unsigned int i = 1; i < EXPORT_NATIVES - 1; i++) {
		uint64_t ns = (uint64_t)(bound_of(i) * 1e9L);

		native_place(ns, false);
		native_place(ns + 1, false);
	}
	for (unsigned int i = 0; i < 100000; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;
		native_place((random >> 24) + 1, false);
	}
	native_place(UINT64_C(1) << 62, true);
}

/* ---- from the kernel's buckets ---- */

/* As stat_bucket() of bpf/stat.bpf.c. */
static unsigned int fine_of(uint64_t ns)
{
	unsigned int order = 63 - (unsigned int)__builtin_clzll(ns | 1);

	if (ns < 2 * STAT_SUB)
		return (unsigned int)ns;
	return ((order - STAT_SUB_BITS + 1) << STAT_SUB_BITS) +
	       (unsigned int)((ns >> (order - STAT_SUB_BITS)) & (STAT_SUB - 1));
}

struct one_vcpu {
	struct stat_vcpu vcpu;
	struct stat_cell cell[2];
};

static const struct stat_vcpu *vcpu_at(void *arg, unsigned int index)
{
	assert_int_equal(index, 0);
	return &((struct one_vcpu *)arg)->vcpu;
}

/* How much a value may exceed the bounds of its bucket. */
static const long double error = 0.004L;

static void value_read(struct one_vcpu *v, uint64_t ns, struct exported_vm *e)
{
	static const struct vm vm = {.nr_vcpus = 0};
	struct stat_cell *cell = &v->cell[0];
	const struct exported_exits *x;
	unsigned int number = 0;

	cell->bucket[fine_of(ns)] = cell->count = 1;
	cell->total_ns = cell->min_ns = cell->max_ns = ns;
	assert_int_equal(exported_vm_read(e, &vm,
					  &(struct exported_counters){.nr_vcpus = 1,
								      .nr_cells = 2,
								      .vcpu = vcpu_at,
								      .arg = v}),
			 0);
	cell->bucket[fine_of(ns)] = 0;
	assert_int_equal(e->nr_exits, 1);
	x = &e->exits[0];
	for (unsigned int i = 0; i < EXPORT_NATIVES; i++)
		if (x->native[i]) {
			assert_int_equal(x->native[i], 1);
			assert_int_equal(number, 0);
			number = i;
		}
	assert_true(ns / 1e9L <= bound_of(number) * (1 + error));
	assert_true(ns / 1e9L > bound_of(number - 1) * (1 - error));
}

static void kernel_buckets(void **state)
{
	struct one_vcpu *v = calloc(1, sizeof(*v));
	const struct export_limits limits = {.vcpus_per_group = 1};
	const struct vm vm = {.name = "x",
			      .uuid = "",
			      .cmdline = "",
			      .machine = "",
			      .accel = "",
			      .version = ""};
	struct exported_vm e;

	(void)state;
	v->vcpu.nr_cells = 1;
	v->vcpu.cell_of[0] = 1;
	assert_int_equal(exported_vm_init(&e, &vm, &limits), 0);
	/* both ends of every bucket of the kernel */
	for (unsigned int b = 1; b < STAT_BUCKETS; b++) {
		unsigned int shift = b < 2 * STAT_SUB ? 0 : b / STAT_SUB - 1;
		uint64_t first = stat_bucket_middle(b) >> shift << shift;

		assert_int_equal(fine_of(first), b);
		assert_int_equal(fine_of(first - 1), b - 1);
		value_read(v, first, &e);
		value_read(v, first + (UINT64_C(1) << shift) - 1, &e);
	}
	exported_vm_deinit(&e);
	free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_is_that_of_text),
		cmocka_unit_test(empty_families),
		cmocka_unit_test(native_buckets),
		cmocka_unit_test(kernel_buckets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
