// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The request of OpenTelemetry's protocol (OTLP/HTTP) that carries all families: messages of opentelemetry.proto by
 * libprotobuf-c. https://opentelemetry.io/docs/specs/otlp/
 *
 * Names are those that a scraper gets, but counters without "_total", which a receiver that stores them for Prometheus
 * adds: https://opentelemetry.io/docs/specs/otel/compatibility/prometheus_and_openmetrics/. A family without samples
 * is left out.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "event/event.h"
#include "exporter/vm.h"
#include "opentelemetry.pb-c.h"

enum { TEMPORALITY_CUMULATIVE = 2 };

/* ---- bytes ---- */

/* Packs a message as one more of the list. */
static void list_pack(struct otlp_request *r, struct otlp_list *list, const ProtobufCMessage *m)
{
	size_t len = protobuf_c_message_get_packed_size(m);
	uint8_t *data;

	if (r->err)
		return;
	r->err = array_room(list->item, list->nr);
	data = r->err ? NULL : malloc(len ? len : 1);
	if (data)
		list->item[list->nr++] =
			(struct otlp_bytes){protobuf_c_message_pack(m, data), data};
	else
		r->err = -ENOMEM;
}

static void list_clear(struct otlp_list *list)
{
	for (size_t i = 0; i < list->nr; i++)
		free(list->item[i].data);
	free(list->item);
	*list = (struct otlp_list){0};
}

/* The list as protobuf-c has it. */
_Static_assert(sizeof(struct otlp_bytes) == sizeof(ProtobufCBinaryData) &&
		       offsetof(struct otlp_bytes, len) == offsetof(ProtobufCBinaryData, len) &&
		       offsetof(struct otlp_bytes, data) == offsetof(ProtobufCBinaryData, data),
	       "struct otlp_bytes is ProtobufCBinaryData");

static ProtobufCBinaryData *list_data(const struct otlp_list *list)
{
	return (ProtobufCBinaryData *)(void *)list->item;
}

/* ---- attributes ---- */

struct attributes {
	Otlp__KeyValue pair[METRIC_PAIRS_MAX], *pairs[METRIC_PAIRS_MAX];
	Otlp__AnyValue value[METRIC_PAIRS_MAX];
	struct metric_pairs text;
	size_t nr;
};

static void attribute_add(struct attributes *a, const char *key, const char *value)
{
	size_t i = a->nr++;

	a->value[i] = (Otlp__AnyValue)OTLP__ANY_VALUE__INIT;
	a->value[i].string_value = (char *)value;
	a->pair[i] = (Otlp__KeyValue)OTLP__KEY_VALUE__INIT;
	a->pair[i].key = (char *)key;
	a->pair[i].value = &a->value[i];
	a->pairs[i] = &a->pair[i];
}

static void attributes_set(struct attributes *a, const struct metric_labels *l)
{
	a->nr = a->text.nr = 0;
	if (l)
		metric_labels_split(l, &a->text);
	for (unsigned int i = 0; i < a->text.nr; i++)
		attribute_add(a, a->text.pair[i].name, a->text.pair[i].value);
}

/* ---- families ---- */

static bool ends_in(const char *name, const char *end)
{
	size_t len = strlen(name), end_len = strlen(end);

	return len > end_len && !strcmp(name + len - end_len, end);
}

/* By the Unified Code for Units of Measure; "": a number of something. */
static const char *unit_of(const char *name)
{
	return ends_in(name, "_seconds") ? "s" : ends_in(name, "_bytes") ? "By" : "";
}

/* What the family's type is called here. */
static Otlp__Data **data_of(const struct otlp_request *r, Otlp__Metric *m)
{
	if (!strcmp(r->type, "counter"))
		return &m->sum;
	if (strcmp(r->type, "histogram"))
		return &m->gauge;
	return r->sender.exponential ? &m->exponential_histogram : &m->histogram;
}

static void family_end(struct otlp_request *r)
{
	Otlp__Metric metric = OTLP__METRIC__INIT;
	Otlp__Data data = OTLP__DATA__INIT;
	char name[128];

	if (!r->name || !r->points.nr)
		return;
	snprintf(name, sizeof(name), "%s", r->name);
	if (ends_in(name, "_total"))
		name[strlen(name) - strlen("_total")] = '\0';
	metric.name = name;
	metric.description = (char *)r->help;
	metric.unit = (char *)unit_of(name);
	*data_of(r, &metric) = &data;
	data.n_data_points = r->points.nr;
	data.data_points = list_data(&r->points);
	if (!metric.gauge) {
		data.has_aggregation_temporality = true;
		data.aggregation_temporality = TEMPORALITY_CUMULATIVE;
	}
	data.has_is_monotonic = data.is_monotonic = !!metric.sum;
	list_pack(r, &r->metrics, &metric.base);
	list_clear(&r->points);
}

void otlp_family(struct otlp_request *r, const char *name, const char *type, const char *help)
{
	family_end(r);
	r->name = name;
	r->type = type;
	r->help = help;
}

/* ---- samples ---- */

static void number_add(struct otlp_request *r, const struct metric_labels *l,
		       Otlp__NumberDataPoint *point)
{
	struct attributes attributes;

	attributes_set(&attributes, l);
	point->n_attributes = attributes.nr;
	point->attributes = attributes.pairs;
	point->has_start_time_unix_nano = strcmp(r->type, "gauge");
	point->start_time_unix_nano = r->start_unix_ns;
	point->has_time_unix_nano = true;
	point->time_unix_nano = r->sender.now_unix_ns;
	list_pack(r, &r->points, &point->base);
}

void otlp_integer(struct otlp_request *r, const struct metric_labels *l, uint64_t value)
{
	Otlp__NumberDataPoint point = OTLP__NUMBER_DATA_POINT__INIT;

	point.has_as_int = true;
	point.as_int = value < INT64_MAX ? (int64_t)value : INT64_MAX;
	number_add(r, l, &point);
}

void otlp_double(struct otlp_request *r, const struct metric_labels *l, double value)
{
	Otlp__NumberDataPoint point = OTLP__NUMBER_DATA_POINT__INIT;

	point.has_as_double = true;
	point.as_double = value;
	number_add(r, l, &point);
}

/* ---- histograms ---- */

/* What both kinds have. */
struct parts {
	struct attributes attributes;
	Otlp__Exemplar exemplar, *exemplars[1];
	Otlp__KeyValue file, *files[1];
	Otlp__AnyValue value;
	size_t nr_exemplars;
	uint64_t count; /* in all buckets */
};

static void exemplar_set(struct parts *p, const struct metric_exemplar *e)
{
	p->nr_exemplars = !!e;
	if (!e)
		return;
	p->value = (Otlp__AnyValue)OTLP__ANY_VALUE__INIT;
	p->value.string_value = (char *)e->file;
	p->file = (Otlp__KeyValue)OTLP__KEY_VALUE__INIT;
	p->file.key = (char *)"trace_file";
	p->file.value = &p->value;
	p->files[0] = &p->file;
	p->exemplar = (Otlp__Exemplar)OTLP__EXEMPLAR__INIT;
	p->exemplar.has_time_unix_nano = p->exemplar.has_as_double = true;
	p->exemplar.time_unix_nano = e->unix_ms * NS_PER_MS;
	p->exemplar.as_double = metric_seconds_value(e->value_ns);
	p->exemplar.n_filtered_attributes = 1;
	p->exemplar.filtered_attributes = p->files;
	p->exemplars[0] = &p->exemplar;
}

static void parts_set(struct parts *p, const struct metric_labels *l,
		      const struct metric_histogram *h)
{
	attributes_set(&p->attributes, l);
	exemplar_set(p, h->exemplar);
	p->count = 0;
	for (unsigned int i = 0; i < h->nr; i++)
		p->count += h->count[i];
}

/* The fields that both kinds have, by the same names. */
#define HISTOGRAM_SET(point, r, p, h)                                                              \
	do {                                                                                       \
		(point)->n_attributes = (p)->attributes.nr;                                        \
		(point)->attributes = (p)->attributes.pairs;                                       \
		(point)->n_exemplars = (p)->nr_exemplars;                                          \
		(point)->exemplars = (p)->exemplars;                                               \
		(point)->has_start_time_unix_nano = (point)->has_time_unix_nano = true;            \
		(point)->start_time_unix_nano = (r)->start_unix_ns;                                \
		(point)->time_unix_nano = (r)->sender.now_unix_ns;                                 \
		(point)->has_count = (point)->has_sum = true;                                      \
		(point)->count = (p)->count;                                                       \
		(point)->sum = metric_seconds_value((h)->sum_ns);                                  \
	} while (0)

static void explicit_add(struct otlp_request *r, struct parts *p, const struct metric_histogram *h)
{
	Otlp__HistogramDataPoint point = OTLP__HISTOGRAM_DATA_POINT__INIT;
	double bound[EXPORT_BUCKETS];

	HISTOGRAM_SET(&point, r, p, h);
	for (unsigned int i = 0; i + 1 < h->nr && i < EXPORT_BUCKETS; i++)
		bound[point.n_explicit_bounds++] = metric_seconds_value(h->bound_ns[i]);
	point.explicit_bounds = bound;
	point.n_bucket_counts = h->nr;
	point.bucket_counts = (uint64_t *)h->count;
	list_pack(r, &r->points, &point.base);
}

/* Bucket I of Prometheus ends where I - 1 of OpenTelemetry does: one counts from its end, the other from its begin. */
static void exponential_add(struct otlp_request *r, struct parts *p,
			    const struct metric_histogram *h)
{
	Otlp__ExponentialHistogramDataPoint point = OTLP__EXPONENTIAL_HISTOGRAM_DATA_POINT__INIT;
	Otlp__Buckets positive = OTLP__BUCKETS__INIT;
	unsigned int first = 1, end = EXPORT_NATIVES;

	HISTOGRAM_SET(&point, r, p, h);
	while (first < end && !h->native[first])
		first++;
	while (end > first && !h->native[end - 1])
		end--;
	point.has_scale = point.has_zero_count = true;
	point.scale = EXPORT_NATIVE_SCHEMA;
	point.zero_count = h->native[0];
	if (first < end) {
		positive.has_offset = true;
		positive.offset = EXPORT_NATIVE_FIRST - 1 + (int32_t)first - 1;
		positive.n_bucket_counts = end - first;
		positive.bucket_counts = (uint64_t *)h->native + first;
		point.positive = &positive;
	}
	list_pack(r, &r->points, &point.base);
}

void otlp_histogram(struct otlp_request *r, const struct metric_labels *l,
		    const struct metric_histogram *h)
{
	struct parts parts;

	parts_set(&parts, l, h);
	if (r->sender.exponential)
		exponential_add(r, &parts, h);
	else
		explicit_add(r, &parts, h);
}

/* ---- the request ---- */

static void request_write(struct otlp_request *r, FILE *out)
{
	Otlp__ExportMetricsServiceRequest request = OTLP__EXPORT_METRICS_SERVICE_REQUEST__INIT;
	Otlp__ResourceMetrics of_host = OTLP__RESOURCE_METRICS__INIT, *of_hosts[] = {&of_host};
	Otlp__Resource resource = OTLP__RESOURCE__INIT;
	Otlp__ScopeMetrics of_scope = OTLP__SCOPE_METRICS__INIT, *of_scopes[] = {&of_scope};
	Otlp__InstrumentationScope scope = OTLP__INSTRUMENTATION_SCOPE__INIT;
	struct attributes attributes = {0};
	struct otlp_list packed = {0};

	attribute_add(&attributes, "service.name", "hostrace");
	attribute_add(&attributes, "service.version", r->sender.version);
	attribute_add(&attributes, "service.instance.id", r->sender.host);
	attribute_add(&attributes, "host.name", r->sender.host);
	resource.n_attributes = attributes.nr;
	resource.attributes = attributes.pairs;
	scope.name = (char *)"hostrace";
	scope.version = (char *)r->sender.version;
	of_scope.scope = &scope;
	of_scope.n_metrics = r->metrics.nr;
	of_scope.metrics = list_data(&r->metrics);
	of_host.resource = &resource;
	of_host.n_scope_metrics = 1;
	of_host.scope_metrics = of_scopes;
	request.n_resource_metrics = 1;
	request.resource_metrics = of_hosts;
	list_pack(r, &packed, &request.base);
	if (packed.nr)
		fwrite(packed.item[0].data, 1, packed.item[0].len, out);
	list_clear(&packed);
}

int otlp_end(struct otlp_request *r, FILE *out)
{
	family_end(r);
	request_write(r, out);
	list_clear(&r->points);
	list_clear(&r->metrics);
	return r->err;
}

/* ---- the answer ---- */

int otlp_answer_read(const void *answer, size_t len, char *why, size_t size)
{
	Otlp__ExportMetricsServiceResponse *m =
		otlp__export_metrics_service_response__unpack(NULL, len, answer);
	const Otlp__ExportMetricsPartialSuccess *partial = m ? m->partial_success : NULL;
	bool some = partial && partial->rejected_data_points;

	snprintf(why, size, "%s", m ? "" : "the answer is none of OpenTelemetry's protocol");
	if (some)
		snprintf(why, size, "%" PRId64 " samples were rejected%s%s",
			 partial->rejected_data_points, partial->error_message ? ": " : "",
			 partial->error_message ? partial->error_message : "");
	text_sanitize(why);
	if (!m)
		return -EPROTO;
	otlp__export_metrics_service_response__free_unpacked(m, NULL);
	return some;
}
