// SPDX-License-Identifier: GPL-2.0-or-later
/* The grammar of Accept: RFC 9110, 12.5.1 and 5.6. Comparisons ignore case, spaces around ; and , are skipped. */
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "exporter/format.h"

enum { NAME_MAX_BYTES = 64, WEIGHT_MAX = 1000 };

/* One element of the list: a media type with parameters. */
struct range {
	char type[NAME_MAX_BYTES];
	bool delimited, metric_family; /* parameters that protobuf needs */
	bool other_version;	       /* than those of OpenMetrics that are known */
	unsigned int weight;	       /* thousandths */
};

static const char *blanks_skip(const char *at)
{
	return at + strspn(at, " \t");
}

/* Up to one of `ends`, which are no part of a quoted text; without quotes. Longer ones are no name that is known. */
static const char *word_read(const char *at, const char *ends, char *ret)
{
	bool quoted = false;
	size_t len = 0;

	for (at = blanks_skip(at); *at && (quoted || !strchr(ends, *at)); at++) {
		if (*at == '"')
			quoted = !quoted;
		else if (len < NAME_MAX_BYTES)
			ret[len++] = *at;
	}
	if (len == NAME_MAX_BYTES)
		len = 0;
	while (len && strchr(" \t", ret[len - 1]))
		len--;
	ret[len] = '\0';
	return at;
}

/* "1", "0.75"; what is no weight is 0: not wanted. */
static unsigned int weight_parse(const char *text)
{
	unsigned int weight = 0, unit = WEIGHT_MAX;

	if (*text != '0' && *text != '1')
		return 0;
	weight = (unsigned int)(*text++ - '0') * WEIGHT_MAX;
	if (*text == '.')
		for (text++; unit > 1 && *text >= '0' && *text <= '9'; text++)
			weight += (unsigned int)(*text - '0') * (unit /= 10);
	return *text || weight > WEIGHT_MAX ? 0 : weight;
}

static void parameter_apply(struct range *r, const char *name, const char *value)
{
	if (!strcasecmp(name, "q"))
		r->weight = weight_parse(value);
	else if (!strcasecmp(name, "encoding"))
		r->delimited = !strcasecmp(value, "delimited");
	else if (!strcasecmp(name, "version"))
		r->other_version = strcmp(value, "1.0.0") && strcmp(value, "0.0.1");
	else if (!strcasecmp(name, "proto"))
		r->metric_family = !strcmp(value, "io.prometheus.client.MetricFamily");
}

static const char *range_read(const char *at, struct range *r)
{
	char name[NAME_MAX_BYTES], value[NAME_MAX_BYTES];

	*r = (struct range){.weight = WEIGHT_MAX};
	at = word_read(at, ";,", r->type);
	while (*at == ';') {
		at = word_read(at + 1, "=;,", name);
		*value = '\0';
		if (*at == '=')
			at = word_read(at + 1, ";,", value);
		parameter_apply(r, name, value);
	}
	return at;
}

/* METRIC_FORMATS: one that is not known */
static enum metric_format range_format(const struct range *r)
{
	if (!strcasecmp(r->type, "application/vnd.google.protobuf"))
		return r->delimited && r->metric_family ? METRIC_PROTOBUF : METRIC_FORMATS;
	if (!strcasecmp(r->type, "application/openmetrics-text"))
		return r->other_version ? METRIC_FORMATS : METRIC_OPENMETRICS;
	if (!strcasecmp(r->type, "text/plain") || !strcasecmp(r->type, "text/*") ||
	    !strcmp(r->type, "*/*"))
		return METRIC_TEXT;
	return METRIC_FORMATS;
}

enum metric_format metric_format_negotiate(const char *accept)
{
	enum metric_format best = METRIC_TEXT;
	unsigned int weight = 0;

	if (!accept || strlen(accept) > FORMAT_ACCEPT_MAX)
		return METRIC_TEXT;
	while (*accept) {
		struct range r;
		enum metric_format format;

		accept = range_read(accept, &r);
		accept += *accept == ',';
		format = range_format(&r);
		if (format != METRIC_FORMATS && r.weight > weight) {
			best = format;
			weight = r.weight;
		}
	}
	return best;
}

#define PROTOBUF_TYPE                                                                              \
	"application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; "               \
	"encoding=delimited"

const char *metric_format_type(enum metric_format format)
{
	static const char *const types[] = {
		[METRIC_TEXT] = "text/plain; version=0.0.4; charset=utf-8",
		[METRIC_OPENMETRICS] =
			"application/openmetrics-text; version=1.0.0; charset=utf-8",
		[METRIC_PROTOBUF] = PROTOBUF_TYPE,
	};

	return types[format];
}
