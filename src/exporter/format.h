/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which format a scraper wants the page. https://prometheus.io/docs/instrumenting/content_negotiation/ */
#ifndef HOSTRACE_EXPORTER_FORMAT_H
#define HOSTRACE_EXPORTER_FORMAT_H

enum metric_format {
	METRIC_TEXT,	 /* version 0.0.4: for all who do not ask for another one */
	METRIC_OPENMETRICS, /* version 1.0.0 */
	METRIC_PROTOBUF, /* with native histograms */
	METRIC_FORMATS,
	METRIC_OTLP = METRIC_FORMATS, /* OpenTelemetry's, which is sent, not scraped: none can ask for it */
};

/*
 * By the value of an Accept header, which is untrusted; NULL: there is none. The one with the greatest weight; of
 * several, the first. Text if none of them is known, or the header is longer than FORMAT_ACCEPT_MAX.
 */
enum { FORMAT_ACCEPT_MAX = 2048 };

enum metric_format metric_format_negotiate(const char *accept);

/* For the Content-Type header. */
const char *metric_format_type(enum metric_format format);

#endif
