// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "exporter/buckets.h"
#include "exporter/protobuf.h"
#include "exporter/text.h"
#include "prometheus.pb-c.h"

/*
 * A family is the concatenation of messages, which protobuf defines as their merger: its head, then one message for
 * each sample. So no message is larger than a sample.
 */
static void part_add(struct proto_family *f, const Prometheus__MetricFamily *part)
{
	size_t size = prometheus__metric_family__get_packed_size(part);

	if (f->err)
		return;
	if (size > f->capacity - f->len) {
		size_t capacity = 2 * f->capacity + size;
		void *more = realloc(f->data, capacity);

		if (!more) {
			f->err = -ENOMEM;
			return;
		}
		f->data = more;
		f->capacity = capacity;
	}
	f->len += prometheus__metric_family__pack(part, f->data + f->len);
}

void proto_family_begin(struct proto_family *f, const char *name, const char *type,
			const char *help)
{
	Prometheus__MetricFamily head = PROMETHEUS__METRIC_FAMILY__INIT;

	f->len = 0;
	f->has_samples = false;
	f->is_counter = !strcmp(type, "counter");
	head.name = (char *)name;
	head.help = (char *)help;
	head.has_type = true;
	head.type = f->is_counter	       ? PROMETHEUS__METRIC_TYPE__COUNTER
		    : !strcmp(type, "histogram") ? PROMETHEUS__METRIC_TYPE__HISTOGRAM
						 : PROMETHEUS__METRIC_TYPE__GAUGE;
	part_add(f, &head);
}

static void sample_add(struct proto_family *f, const struct metric_labels *l,
		       Prometheus__Metric *metric)
{
	Prometheus__MetricFamily part = PROMETHEUS__METRIC_FAMILY__INIT;
	struct metric_pairs pairs = {0};
	Prometheus__LabelPair label[METRIC_PAIRS_MAX], *labels[METRIC_PAIRS_MAX];

	if (l)
		metric_labels_split(l, &pairs);
	for (unsigned int i = 0; i < pairs.nr; i++) {
		label[i] = (Prometheus__LabelPair)PROMETHEUS__LABEL_PAIR__INIT;
		label[i].name = pairs.pair[i].name;
		label[i].value = pairs.pair[i].value;
		labels[i] = &label[i];
	}
	metric->n_label = pairs.nr;
	metric->label = labels;
	part.n_metric = 1;
	part.metric = &metric;
	part_add(f, &part);
	f->has_samples = true;
}

void proto_number(struct proto_family *f, const struct metric_labels *l, double value)
{
	Prometheus__Metric metric = PROMETHEUS__METRIC__INIT;
	Prometheus__Number number = PROMETHEUS__NUMBER__INIT;

	number.has_value = true;
	number.value = value;
	*(f->is_counter ? &metric.counter : &metric.gauge) = &number;
	sample_add(f, l, &metric);
}

/* ---- histograms ---- */

enum { SPANS_MAX = EXPORT_NATIVES / 2 + 1 };

/* Arrays of a message. */
struct parts {
	Prometheus__Bucket bucket[EXPORT_BUCKETS], *buckets[EXPORT_BUCKETS];
	Prometheus__BucketSpan span[SPANS_MAX], *spans[SPANS_MAX];
	int64_t delta[EXPORT_NATIVES];
	Prometheus__Exemplar exemplar;
	Prometheus__Timestamp when;
	Prometheus__LabelPair label, *labels[1];
};

static void exemplar_set(struct parts *parts, const struct metric_histogram *h)
{
	const struct metric_exemplar *e = h->exemplar;

	parts->label = (Prometheus__LabelPair)PROMETHEUS__LABEL_PAIR__INIT;
	parts->label.name = (char *)"trace_file";
	parts->label.value = (char *)e->file;
	parts->labels[0] = &parts->label;
	parts->when = (Prometheus__Timestamp)PROMETHEUS__TIMESTAMP__INIT;
	parts->when.has_seconds = parts->when.has_nanos = true;
	parts->when.seconds = (int64_t)(e->unix_ms / 1000);
	parts->when.nanos = (int32_t)(e->unix_ms % 1000 * NS_PER_MS);
	parts->exemplar = (Prometheus__Exemplar)PROMETHEUS__EXEMPLAR__INIT;
	parts->exemplar.n_label = 1;
	parts->exemplar.label = parts->labels;
	parts->exemplar.has_value = true;
	parts->exemplar.value = metric_seconds_value(e->value_ns);
	parts->exemplar.timestamp = &parts->when;
	parts->bucket[metric_histogram_bucket(h, e->value_ns)].exemplar = &parts->exemplar;
}

static void classic_set(Prometheus__Histogram *to, struct parts *parts,
			const struct metric_histogram *h)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < h->nr && i < EXPORT_BUCKETS; i++) {
		Prometheus__Bucket *b = &parts->bucket[i];

		count += h->count[i];
		*b = (Prometheus__Bucket)PROMETHEUS__BUCKET__INIT;
		b->has_cumulative_count = b->has_upper_bound = true;
		b->cumulative_count = count;
		b->upper_bound = i + 1 < h->nr ? metric_seconds_value(h->bound_ns[i]) : INFINITY;
		parts->buckets[to->n_bucket++] = b;
	}
	if (h->exemplar)
		exemplar_set(parts, h);
	to->bucket = parts->buckets;
	to->has_sample_count = to->has_sample_sum = true;
	to->sample_count = count;
	to->sample_sum = metric_seconds_value(h->sum_ns);
}

/* A span is a run of buckets that are not empty. */
static void native_set(Prometheus__Histogram *to, struct parts *parts, const uint64_t *count)
{
	unsigned int end = 0; /* of the last span */
	Prometheus__BucketSpan *span = NULL;
	uint64_t before = 0;

	to->has_schema = to->has_zero_threshold = to->has_zero_count = true;
	to->schema = EXPORT_NATIVE_SCHEMA;
	to->zero_threshold = 0x1p-128; /* as other exporters' */
	to->zero_count = count[0];
	for (unsigned int i = 1; i < EXPORT_NATIVES; i++) {
		if (!count[i])
			continue;
		if (!span || i != end) {
			span = &parts->span[to->n_positive_span];
			*span = (Prometheus__BucketSpan)PROMETHEUS__BUCKET_SPAN__INIT;
			span->has_offset = span->has_length = true;
			span->offset = (int32_t)i - (int32_t)end;
			if (!to->n_positive_span)
				span->offset += EXPORT_NATIVE_FIRST - 1;
			parts->spans[to->n_positive_span++] = span;
		}
		span->length++;
		end = i + 1;
		parts->delta[to->n_positive_delta++] = (int64_t)(count[i] - before);
		before = count[i];
	}
	to->positive_span = parts->spans;
	to->positive_delta = parts->delta;
}

void proto_histogram(struct proto_family *f, const struct metric_labels *l,
		     const struct metric_histogram *h)
{
	Prometheus__Metric metric = PROMETHEUS__METRIC__INIT;
	Prometheus__Histogram histogram = PROMETHEUS__HISTOGRAM__INIT;
	struct parts parts;

	classic_set(&histogram, &parts, h);
	native_set(&histogram, &parts, h->native);
	metric.histogram = &histogram;
	sample_add(f, l, &metric);
}

/* ---- the end ---- */

/* As a varint. */
static void length_write(size_t len, FILE *out)
{
	for (; len > 0x7f; len >>= 7)
		fputc((int)(len & 0x7f) | 0x80, out);
	fputc((int)len, out);
}

void proto_family_end(struct proto_family *f, FILE *out)
{
	if (!f->has_samples || f->err)
		return;
	length_write(f->len, out);
	fwrite(f->data, 1, f->len, out);
	f->has_samples = false;
}

int proto_family_free(struct proto_family *f)
{
	free(f->data);
	return f->err;
}
