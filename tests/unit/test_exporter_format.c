// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "exporter/format.h"

#define PROTO                                                                                      \
	"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"                 \
	"encoding=delimited"
#define OPEN                                                                                       \
	"application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;"   \
	"q=0.75"
#define TEXT "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"

static void headers(void **state)
{
	static const struct {
		const char *accept;
		enum metric_format want;
	} cases[] = {
		{NULL, METRIC_TEXT},
		{"", METRIC_TEXT},
		{"*/*", METRIC_TEXT},
		{"text/html, application/xhtml+xml;q=0.9, */*;q=0.8", METRIC_TEXT}, /* a browser */
		{"image/png", METRIC_TEXT},
		{"text/plain;version=0.0.4;q=1,*/*;q=0.1", METRIC_TEXT},
		/* Prometheus 2.42 with --enable-feature=native-histograms; 3.4 */
		{PROTO "," OPEN "," TEXT, METRIC_PROTOBUF},
		{PROTO ";q=0.6,application/openmetrics-text;version=1.0.0;"
		       "escaping=allow-utf-8;q=0.5," TEXT ";q=0.2,/;q=0.1",
		 METRIC_PROTOBUF},
		/* Prometheus 2.42 without a feature, and a scraper that prefers text */
		{OPEN "," TEXT, METRIC_OPENMETRICS},
		{"text/plain," OPEN, METRIC_TEXT},
		{"application/openmetrics-text", METRIC_OPENMETRICS},
		{"application/openmetrics-text; version=0.0.1; charset=utf-8", METRIC_OPENMETRICS},
		{"application/openmetrics-text; version=2.0.0", METRIC_TEXT},
		/* weights and their order */
		{PROTO ";q=0.4," TEXT, METRIC_TEXT},
		{TEXT "," PROTO ";q=0.501", METRIC_PROTOBUF},
		{"text/plain," PROTO, METRIC_TEXT},
		{PROTO ",text/plain", METRIC_PROTOBUF},
		{PROTO ";q=0", METRIC_TEXT},
		{PROTO ";q=0.000", METRIC_TEXT},
		{PROTO ";Q=1.000", METRIC_PROTOBUF},
		/* invalid weights */
		{PROTO ";q=", METRIC_TEXT},
		{PROTO ";q=2", METRIC_TEXT},
		{PROTO ";q=1.001", METRIC_TEXT},
		{PROTO ";q=0.1234", METRIC_TEXT},
		{PROTO ";q=-1", METRIC_TEXT},
		{PROTO ";q=nan", METRIC_TEXT},
		/* parameters that are missing, have other values, are quoted or have blanks */
		{"application/vnd.google.protobuf", METRIC_TEXT},
		{"application/vnd.google.protobuf;encoding=delimited", METRIC_TEXT},
		{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily",
		 METRIC_TEXT},
		{"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
		 "encoding=text",
		 METRIC_TEXT},
		{"application/vnd.google.protobuf;proto=x.Y;encoding=delimited", METRIC_TEXT},
		{" Application/VND.google.protobuf ; encoding = \"delimited\" ;\t"
		 "proto=\"io.prometheus.client.MetricFamily\" ; q=\"0.3\" , text/plain;q=0.2",
		 METRIC_PROTOBUF},
		{"text/x;note=\"" PROTO ",\"," TEXT, METRIC_TEXT},
		/* no grammar */
		{",,;;==\"", METRIC_TEXT},
		{";;;," PROTO ";;", METRIC_PROTOBUF},
		{PROTO "\"", METRIC_PROTOBUF},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (metric_format_negotiate(cases[i].accept) != cases[i].want)
			fail_msg("%zu: %s", i, cases[i].accept);
}

static void long_header(void **state)
{
	char accept[FORMAT_ACCEPT_MAX + 2], word[256];

	(void)state;
	memset(accept, ',', sizeof(accept));
	memcpy(accept, PROTO, strlen(PROTO));
	accept[FORMAT_ACCEPT_MAX] = '\0';
	assert_int_equal(metric_format_negotiate(accept), METRIC_PROTOBUF);
	accept[FORMAT_ACCEPT_MAX] = ',';
	accept[FORMAT_ACCEPT_MAX + 1] = '\0';
	assert_int_equal(metric_format_negotiate(accept), METRIC_TEXT);
	memset(word, 'a', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(metric_format_negotiate(word), METRIC_TEXT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(headers),
		cmocka_unit_test(long_header),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
