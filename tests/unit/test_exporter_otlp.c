// SPDX-License-Identifier: GPL-2.0-or-later
/* What OTLP sends, read by libprotobuf-c and written as text, is what is written as OpenMetrics. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/text.h"
#include "metric_page.h"
#include "opentelemetry.pb-c.h"

enum { START = 1000, NOW = 2000 };

/* ---- a request as a page of text ---- */

static void labels_of(Otlp__KeyValue *const *pair, size_t nr, struct metric_labels *ret)
{
	*ret = (struct metric_labels){0};
	for (size_t i = 0; i < nr; i++)
		metric_label(ret, pair[i]->key, pair[i]->value->string_value);
}

static uint64_t ns_of(double seconds)
{
	return (uint64_t)llround(seconds * 1e9);
}

static void number_rewrite(struct metric_text *to, const ProtobufCBinaryData *bytes, bool counts)
{
	Otlp__NumberDataPoint *p =
		otlp__number_data_point__unpack(NULL, bytes->len, bytes->data);
	struct metric_labels l;

	assert_non_null(p);
	assert_int_equal(p->time_unix_nano, NOW);
	assert_int_equal(p->has_start_time_unix_nano, counts);
	assert_int_equal(p->start_time_unix_nano, counts ? START : 0);
	assert_int_not_equal(p->has_as_int, p->has_as_double);
	labels_of(p->attributes, p->n_attributes, &l);
	if (p->has_as_int)
		metric_number(to, &l, (uint64_t)p->as_int);
	else
		metric_seconds(to, &l, ns_of(p->as_double));
	otlp__number_data_point__free_unpacked(p, NULL);
}

static void histogram_rewrite(struct metric_text *to, const ProtobufCBinaryData *bytes)
{
	Otlp__HistogramDataPoint *p =
		otlp__histogram_data_point__unpack(NULL, bytes->len, bytes->data);
	uint64_t bound[EXPORT_BUCKETS], sum = 0;
	struct metric_exemplar exemplar = {0};
	struct metric_labels l;

	assert_non_null(p);
	assert_int_equal(p->start_time_unix_nano, START);
	assert_int_equal(p->time_unix_nano, NOW);
	assert_in_range(p->n_bucket_counts, 1, EXPORT_BUCKETS);
	assert_int_equal(p->n_explicit_bounds + 1, p->n_bucket_counts);
	for (size_t i = 0; i < p->n_explicit_bounds; i++)
		bound[i] = ns_of(p->explicit_bounds[i]);
	for (size_t i = 0; i < p->n_bucket_counts; i++)
		sum += p->bucket_counts[i];
	assert_int_equal(sum, p->count);
	labels_of(p->attributes, p->n_attributes, &l);
	if (p->n_exemplars) {
		const Otlp__Exemplar *e = p->exemplars[0];

		assert_string_equal(e->filtered_attributes[0]->key, "trace_file");
		exemplar.file = e->filtered_attributes[0]->value->string_value;
		exemplar.value_ns = ns_of(e->as_double);
		exemplar.unix_ms = e->time_unix_nano / 1000000;
	}
	metric_histogram(to, &l,
			 &(struct metric_histogram){.bound_ns = bound,
						    .count = p->bucket_counts,
						    .nr = (unsigned int)p->n_bucket_counts,
						    .exemplar = exemplar.file ? &exemplar : NULL,
						    .sum_ns = ns_of(p->sum)});
	otlp__histogram_data_point__free_unpacked(p, NULL);
}

static void metric_rewrite(struct metric_text *to, const Otlp__Metric *m)
{
	const Otlp__Data *data = m->gauge ? m->gauge : m->sum ? m->sum : m->histogram;
	const char *type = m->gauge ? "gauge" : m->sum ? "counter" : "histogram";
	char name[128];

	assert_int_equal(!!m->gauge + !!m->sum + !!m->histogram + !!m->exponential_histogram, 1);
	assert_int_equal(data->aggregation_temporality, m->gauge ? 0 : 2);
	assert_int_equal(data->is_monotonic, !!m->sum);
	assert_string_equal(m->unit, strstr(m->name, "_seconds") ? "s" : "");
	snprintf(name, sizeof(name), "%s%s", m->name, m->sum ? "_total" : "");
	metric_family(to, name, type, m->description);
	for (size_t i = 0; i < data->n_data_points; i++)
		if (m->histogram)
			histogram_rewrite(to, &data->data_points[i]);
		else
			number_rewrite(to, &data->data_points[i], m->sum);
}

/* ---- requests ---- */

static Otlp__ExportMetricsServiceRequest *request_read(bool exponential)
{
	Otlp__ExportMetricsServiceRequest *ret;
	char *bytes = NULL;
	size_t len;
	FILE *f = open_memstream(&bytes, &len);
	struct metric_text t = {.out = f,
				.format = METRIC_OTLP,
				.otlp = {.sender = {.version = "1.2",
						    .host = "h1",
						    .now_unix_ns = NOW,
						    .exponential = exponential},
					 .start_unix_ns = START}};

	metric_page_write(&t);
	fclose(f);
	ret = otlp__export_metrics_service_request__unpack(NULL, len, (uint8_t *)bytes);
	assert_non_null(ret);
	free(bytes);
	return ret;
}

static const Otlp__ScopeMetrics *scope_of(const Otlp__ExportMetricsServiceRequest *r)
{
	assert_int_equal(r->n_resource_metrics, 1);
	assert_int_equal(r->resource_metrics[0]->n_scope_metrics, 1);
	return r->resource_metrics[0]->scope_metrics[0];
}

static Otlp__Metric *metric_read(const Otlp__ScopeMetrics *s, size_t i)
{
	Otlp__Metric *m = otlp__metric__unpack(NULL, s->metrics[i].len, s->metrics[i].data);

	assert_non_null(m);
	return m;
}

static void request_is_the_page(void **state)
{
	Otlp__ExportMetricsServiceRequest *r = request_read(false);
	const Otlp__ScopeMetrics *s = scope_of(r);
	char *text = NULL, *again = NULL;
	size_t text_len, again_len;
	FILE *f = open_memstream(&text, &text_len);
	struct metric_text to = {.format = METRIC_OPENMETRICS};

	(void)state;
	metric_page_write(&(struct metric_text){.out = f, .format = METRIC_OPENMETRICS});
	fclose(f);
	to.out = f = open_memstream(&again, &again_len);
	for (size_t i = 0; i < s->n_metrics; i++) {
		Otlp__Metric *m = metric_read(s, i);

		metric_rewrite(&to, m);
		otlp__metric__free_unpacked(m, NULL);
	}
	assert_int_equal(metric_end(&to), 0);
	fclose(f);
	assert_true(text_len > 500);
	assert_string_equal(again, text);
	free(text);
	free(again);
	otlp__export_metrics_service_request__free_unpacked(r, NULL);
}

static void sender_is_named(void **state)
{
	Otlp__ExportMetricsServiceRequest *r = request_read(false);
	const Otlp__Resource *host = r->resource_metrics[0]->resource;
	struct metric_labels l;

	(void)state;
	labels_of(host->attributes, host->n_attributes, &l);
	assert_string_equal(l.text, "service.name=\"hostrace\",service.version=\"1.2\","
				    "service.instance.id=\"h1\",host.name=\"h1\"");
	assert_string_equal(scope_of(r)->scope->name, "hostrace");
	assert_string_equal(scope_of(r)->scope->version, "1.2");
	otlp__export_metrics_service_request__free_unpacked(r, NULL);
}

/* Bucket I ends at 2^((I + 1) / 8) s; native bucket NUMBER at 2^((NUMBER - 1 + FIRST) / 8) s. */
static void exponential_buckets(void **state)
{
	Otlp__ExportMetricsServiceRequest *r = request_read(true);
	const Otlp__ScopeMetrics *s = scope_of(r);
	Otlp__Metric *m = metric_read(s, s->n_metrics - 1);
	const Otlp__Data *data = m->exponential_histogram;

	(void)state;
	assert_non_null(data);
	assert_int_equal(data->n_data_points, 2);
	for (int i = 0; i < 2; i++) {
		Otlp__ExponentialHistogramDataPoint *p =
			otlp__exponential_histogram_data_point__unpack(
				NULL, data->data_points[i].len, data->data_points[i].data);
		uint64_t native[EXPORT_NATIVES] = {p->zero_count};

		assert_int_equal(p->scale, EXPORT_NATIVE_SCHEMA);
		assert_int_equal(!p->positive, i); /* the second one has no samples */
		for (size_t b = 0; p->positive && b < p->positive->n_bucket_counts; b++) {
			int end = p->positive->offset + (int)b + 1;

			native[end - EXPORT_NATIVE_FIRST + 1] = p->positive->bucket_counts[b];
		}
		if (!i)
			assert_memory_equal(native, metric_page_native, sizeof(native));
		assert_int_equal(p->count, i ? 0 : 305);
		assert_int_equal(p->n_exemplars, !i);
		otlp__exponential_histogram_data_point__free_unpacked(p, NULL);
	}
	otlp__metric__free_unpacked(m, NULL);
	otlp__export_metrics_service_request__free_unpacked(r, NULL);
}

/* ---- answers ---- */

static void answers(void **state)
{
	static const uint8_t one[] = {0x0a, 0x09, 0x08, 0x02, 0x12, 0x05,
				      'n',  'o',  0x1b, '!',  '!'};
	char buf[64];

	(void)state;
	assert_int_equal(otlp_answer_read("", 0, buf, sizeof(buf)), 0);
	assert_string_equal(buf, "");
	assert_int_equal(otlp_answer_read(one, sizeof(one), buf, sizeof(buf)), 1);
	assert_string_equal(buf, "2 samples were rejected: no?!!");
	assert_int_equal(otlp_answer_read(one, sizeof(one) - 1, buf, sizeof(buf)), -EPROTO);
	assert_int_equal(otlp_answer_read("<html>", 6, buf, sizeof(buf)), -EPROTO);
	assert_string_equal(buf, "the answer is none of OpenTelemetry's protocol");
	assert_int_equal(otlp_answer_read(one, sizeof(one), buf, 10), 1);
	assert_string_equal(buf, "2 samples");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(request_is_the_page),
		cmocka_unit_test(sender_is_named),
		cmocka_unit_test(exponential_buckets),
		cmocka_unit_test(answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
