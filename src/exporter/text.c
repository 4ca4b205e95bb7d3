// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Families of samples in a format of Prometheus: text, version 0.0.4, OpenMetrics, or protobuf (prometheus.proto);
 * or as a request of OpenTelemetry (otlp.c).
 * https://prometheus.io/docs/instrumenting/exposition_formats/
 * https://prometheus.io/docs/specs/om/open_metrics_spec/
 *
 * The formats of text are a few lines of code; a client library would keep a second copy of all counters.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "event/event.h"
#include "exporter/vm.h"
#include "prometheus.pb-c.h"

static void proto_family_begin(struct proto_family *f, const char *name, const char *type,
			       const char *help);
static void proto_number(struct proto_family *f, const struct metric_labels *l, double value);
static void proto_histogram(struct proto_family *f, const struct metric_labels *l,
			    const struct metric_histogram *h);
static void proto_family_end(struct proto_family *f, FILE *out);
static int proto_family_free(struct proto_family *f);

static bool ends_in(const char *name, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len > end_len && !memcmp(name + len - end_len, end, end_len);
}

/* A family of counters is named without "_total", which all samples have; its unit is the end of its name. */
static void openmetrics_family(FILE *out, const char *name, const char *type, const char *help)
{
	static const char *const units[] = {"_seconds", "_bytes"};
	int len = (int)strlen(name);

	if (ends_in(name, (size_t)len, "_total"))
		len -= (int)strlen("_total");
	fprintf(out, "# TYPE %.*s %s\n", len, name, type);
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (ends_in(name, (size_t)len, units[i]))
			fprintf(out, "# UNIT %.*s %s\n", len, name, units[i] + 1);
	fprintf(out, "# HELP %.*s %s\n", len, name, help);
}

void metric_family(struct metric_text *t, const char *name, const char *type, const char *help)
{
	t->family = name;
	if (!t->out)
		return;
	if (t->format == METRIC_OTLP) {
		otlp_family(&t->otlp, name, type, help);
	} else if (t->format == METRIC_PROTOBUF) {
		proto_family_end(&t->proto, t->out);
		proto_family_begin(&t->proto, name, type, help);
	} else if (t->format == METRIC_OPENMETRICS) {
		openmetrics_family(t->out, name, type, help);
	} else {
		fprintf(t->out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
	}
}

static bool is_proto(const struct metric_text *t)
{
	return t->out && t->format == METRIC_PROTOBUF;
}

static bool is_otlp(const struct metric_text *t)
{
	return t->out && t->format == METRIC_OTLP;
}

/* `end`: of the line */
static void line_write(struct metric_text *t, const char *suffix, const struct metric_labels *l,
		       const char *value, const char *end)
{
	t->samples++;
	if (t->out && l && l->len)
		fprintf(t->out, "%s%s{%s} %s%s\n", t->family, suffix, l->text, value, end);
	else if (t->out)
		fprintf(t->out, "%s%s %s%s\n", t->family, suffix, value, end);
}

static void sample_write(struct metric_text *t, const char *suffix, const struct metric_labels *l,
			 const char *value)
{
	line_write(t, suffix, l, value, "");
}

static void number_write(struct metric_text *t, const char *suffix, const struct metric_labels *l,
			 uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	sample_write(t, suffix, l, text);
}

static void seconds_write(struct metric_text *t, const char *suffix, const struct metric_labels *l,
			  uint64_t ns)
{
	char text[32];

	sample_write(t, suffix, l, seconds_print(ns, text, sizeof(text)));
}

void metric_number(struct metric_text *t, const struct metric_labels *l, uint64_t value)
{
	if (is_otlp(t))
		otlp_integer(&t->otlp, l, value);
	else if (is_proto(t))
		proto_number(&t->proto, l, (double)value);
	else
		number_write(t, "", l, value);
}

void metric_seconds(struct metric_text *t, const struct metric_labels *l, uint64_t ns)
{
	if (is_otlp(t))
		otlp_double(&t->otlp, l, metric_seconds_value(ns));
	else if (is_proto(t))
		proto_number(&t->proto, l, metric_seconds_value(ns));
	else
		seconds_write(t, "", l, ns);
}

/* NULL: none */
static const char *exemplar_print(const struct metric_exemplar *e, char *buf, size_t size)
{
	char value[32], when[32];

	if (!e)
		return "";
	snprintf(buf, size, " # {trace_file=\"%s\"} %s %s", e->file,
		 seconds_print(e->value_ns, value, sizeof(value)),
		 seconds_print(e->unix_ms * NS_PER_MS, when, sizeof(when)));
	return buf;
}

static void bucket_write(struct metric_text *t, const struct metric_labels *l, const char *bound,
			 uint64_t count, const struct metric_exemplar *e)
{
	struct metric_labels all = *l;
	char text[24], exemplar[256];

	metric_label(&all, "le", bound);
	snprintf(text, sizeof(text), "%" PRIu64, count);
	line_write(t, "_bucket", &all, text, exemplar_print(e, exemplar, sizeof(exemplar)));
}

/* The number of the bucket that a value is in. */
static unsigned int metric_histogram_bucket(const struct metric_histogram *h, uint64_t ns)
{
	unsigned int i = 0;

	while (i + 1 < h->nr && ns > h->bound_ns[i])
		i++;
	return i;
}

void metric_histogram(struct metric_text *t, const struct metric_labels *l,
		      const struct metric_histogram *h)
{
	const struct metric_exemplar *e = t->format == METRIC_OPENMETRICS ? h->exemplar : NULL;
	unsigned int of = e ? metric_histogram_bucket(h, e->value_ns) : h->nr;
	uint64_t count = 0;
	char bound[32];

	if (is_otlp(t)) {
		otlp_histogram(&t->otlp, l, h);
		return;
	}
	if (is_proto(t)) {
		proto_histogram(&t->proto, l, h);
		return;
	}
	for (unsigned int i = 0; i + 1 < h->nr; i++) {
		count += h->count[i];
		bucket_write(t, l, seconds_print(h->bound_ns[i], bound, sizeof(bound)), count,
			     i == of ? e : NULL);
	}
	count += h->count[h->nr - 1];
	bucket_write(t, l, "+Inf", count, of + 1 == h->nr ? e : NULL);
	seconds_write(t, "_sum", l, h->sum_ns);
	number_write(t, "_count", l, count);
}

int metric_end(struct metric_text *t)
{
	if (is_otlp(t) && otlp_end(&t->otlp, t->out))
		return fail(-ENOMEM, "out of memory");
	if (is_proto(t))
		proto_family_end(&t->proto, t->out);
	else if (t->out && t->format == METRIC_OPENMETRICS)
		fputs("# EOF\n", t->out);
	return proto_family_free(&t->proto) ? fail(-ENOMEM, "out of memory") : 0;
}

/*
 * Prometheus' protobuf format: families as messages of prometheus.proto by libprotobuf-c, each after its length.
 * Histograms have native buckets and classic ones; a family without samples is left out.
 */

/*
 * A family is the concatenation of messages, which protobuf defines as their merger: its head, then one message for
 * each sample. So no message is larger than a sample.
 */
static void part_add(struct proto_family *f, const Prometheus__MetricFamily *part)
{
	size_t size = prometheus__metric_family__get_packed_size(part);

	if (f->err)
		return;
	f->err = array_reserve(f->data, f->len + size, f->capacity);
	if (!f->err)
		f->len += prometheus__metric_family__pack(part, f->data + f->len);
}

/* proto_family_end() comes before the next family. */
static void proto_family_begin(struct proto_family *f, const char *name, const char *type,
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

static void proto_number(struct proto_family *f, const struct metric_labels *l, double value)
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

static void proto_histogram(struct proto_family *f, const struct metric_labels *l,
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

/* Nothing to do if none was begun. */
static void proto_family_end(struct proto_family *f, FILE *out)
{
	if (!f->has_samples || f->err)
		return;
	length_write(f->len, out);
	fwrite(f->data, 1, f->len, out);
	f->has_samples = false;
}

/* 0 or -ENOMEM. */
static int proto_family_free(struct proto_family *f)
{
	free(f->data);
	return f->err;
}
