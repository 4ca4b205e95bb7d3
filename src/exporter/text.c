// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "event/event.h"
#include "exporter/text.h"

/* Backslash, quote and newline; the last is already replaced. */
static size_t value_escape(const char *value, char *buf)
{
	size_t len = 0;

	for (; *value; value++) {
		if (*value == '\\' || *value == '"')
			buf[len++] = '\\';
		buf[len++] = *value;
	}
	return len;
}

void metric_label(struct metric_labels *l, const char *name, const char *value)
{
	char copy[METRIC_VALUE_MAX + 1], text[2 * METRIC_VALUE_MAX];
	size_t capacity = sizeof(l->text) - l->len;
	int n;

	if (l->nr == METRIC_PAIRS_MAX)
		return;
	snprintf(copy, sizeof(copy), "%s", value);
	text_sanitize(copy);
	n = snprintf(l->text + l->len, capacity, "%s%s=\"%.*s\"", l->len ? "," : "", name,
		     (int)value_escape(copy, text), text);
	if (n > 0 && (size_t)n < capacity) {
		l->len += (size_t)n;
		l->nr++;
	}
	l->text[l->len] = '\0';
}

/* Ends it at its closing quote and removes backslashes. Returns what follows. */
static char *value_unescape(char *value)
{
	char *to = value, *at = value;

	for (; *at != '"'; at++) {
		at += *at == '\\';
		*to++ = *at;
	}
	*to = '\0';
	return at + 1;
}

void metric_labels_split(const struct metric_labels *l, struct metric_pairs *ret)
{
	char *at = ret->text;

	memcpy(at, l->text, l->len + 1);
	for (ret->nr = 0; ret->nr < l->nr; ret->nr++) {
		at += ret->nr > 0; /* the comma */
		ret->pair[ret->nr].name = at;
		at = strchr(at, '=');
		*at = '\0';
		ret->pair[ret->nr].value = at + 2;
		at = value_unescape(at + 2);
	}
}

void metric_label_number(struct metric_labels *l, const char *name, uint64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, value);
	metric_label(l, name, text);
}

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

double metric_seconds_value(uint64_t ns)
{
	char text[32];

	return strtod(seconds_print(ns, text, sizeof(text)), NULL);
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

unsigned int metric_histogram_bucket(const struct metric_histogram *h, uint64_t ns)
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
